// Copies the secret from the URL fragment into the form.
const secret = document.querySelector('input[name="secret"]');
const missing = document.getElementById('missing');
document.getElementById('without-script').hidden = true;
if (location.hash.length > 1) secret.value = location.hash.slice(1);
else missing.hidden = false;
