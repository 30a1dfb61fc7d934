// Has the browser make a passkey or use one, and sends the form with what it gave. The form says in data-passkey which of
// both, and in data-options with what; its hidden fields have the names of what is sent.
const form = document.querySelector('form[data-passkey]');
const fault = document.getElementById('passkey-fault');
const { passkey, options } = form.dataset;
const { challenge, party, user, algorithms, credentialIds } = JSON.parse(options);

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));

const textOf = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const known = credentialIds.map((one) => ({ type: 'public-key', id: bytesOf(one) }));

async function create() {
  const { id, response } = await navigator.credentials.create({
    publicKey: {
      challenge: bytesOf(challenge),
      rp: { id: party.id, name: 'Profile Lookup' },
      user: { id: bytesOf(user.handle), name: user.name, displayName: user.name },
      excludeCredentials: known,
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    },
  });
  const publicKey = response.getPublicKey();
  if (publicKey === null) throw new Error('This device makes keys of a kind that can’t be used here; try another one.');
  return {
    credentialId: id,
    clientDataJson: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.getAuthenticatorData()),
    publicKey: textOf(publicKey),
  };
}

async function get() {
  const { id, response } = await navigator.credentials.get({
    publicKey: {
      challenge: bytesOf(challenge),
      rpId: party.id,
      allowCredentials: known,
      userVerification: 'required',
    },
  });
  return {
    credentialId: id,
    clientDataJson: textOf(response.clientDataJSON),
    authenticatorData: textOf(response.authenticatorData),
    signature: textOf(response.signature),
    userHandle: response.userHandle === null ? '' : textOf(response.userHandle),
  };
}

function tell(sentence) {
  fault.textContent = sentence;
  fault.hidden = false;
}

function sentenceOf({ name, message }) {
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return 'No passkey was used: it was cancelled, took too long, or this device has none for this site. Try again.';
  }
  if (name === 'InvalidStateError') return 'This device keeps a passkey of this admin already; take another device.';
  return name === 'Error' ? message : `This browser could not use a passkey here (${name}).`;
}

async function ask(event) {
  event.preventDefault();
  const button = form.querySelector('button');
  fault.hidden = true;
  button.disabled = true;
  try {
    const given = await (passkey === 'create' ? create() : get());
    for (const [name, value] of Object.entries(given)) form.elements.namedItem(name).value = value;
    form.submit();
  } catch (error) {
    tell(sentenceOf(error));
    button.disabled = false;
    button.focus();
  }
}

document.getElementById('without-script').hidden = true;
if (location.origin !== party.origin) {
  tell(`Passkeys work at ${party.origin} only: open this page there.`);
} else if (window.PublicKeyCredential === undefined) {
  tell('This browser can’t use passkeys. Take a newer one, or one on another device.');
} else {
  form.addEventListener('submit', ask);
  if (form.dataset.atOnce === 'yes') form.requestSubmit();
}
