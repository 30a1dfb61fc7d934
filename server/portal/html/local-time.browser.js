// Writes exact times, which are in UTC without scripts, in the zone of the browser, and says so in the foot.
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
