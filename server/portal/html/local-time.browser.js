// Converts exact times from UTC to the browser's time zone, and names that in the footer.
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
const localText = (time) => {
  const date = new Date(time.dateTime);
  return new Date(date - date.getTimezoneOffset() * 60_000).toISOString().slice(0, 16).replace('T', ' ');
};

function localise() {
  for (const time of document.querySelectorAll('time:not([data-local])')) {
    time.dataset.local = '';
    if (time.title === '') time.textContent = localText(time);
    else time.title = localText(time);
  }
  for (const zone of document.querySelectorAll('.zone')) if (zone.textContent !== timeZone) zone.textContent = timeZone;
  document.getElementById('zone').hidden = document.querySelector('time') === null;
}

localise();
new MutationObserver(localise).observe(document.getElementById('main'), { childList: true, subtree: true });
