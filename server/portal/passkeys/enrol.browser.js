// Copies the secret from the URL fragment into the form, and shows the form only if there is a secret.
const secret = document.querySelector('input[name="secret"]');

function read() {
  secret.value = location.hash.slice(1);
  document.getElementById('whole').hidden = secret.value === '';
  document.getElementById('missing').hidden = secret.value !== '';
}

document.getElementById('without-script').hidden = true;
read();
// Pasting the whole link into the address bar of this page changes only the fragment.
addEventListener('hashchange', read);
