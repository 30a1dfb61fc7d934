// Creates or uses a passkey, as the form's data-passkey says, with its data-options, and sends the form with the credential as
// JSON in the field `credential`.
const form = document.querySelector('form[data-passkey]');
const fault = document.getElementById('passkey-fault');
// The sentence that the browser is asking, on pages that have one: shown only while it is.
const asking = document.getElementById('asking');
const { passkey, options } = form.dataset;
const { challenge, party, user, algorithms, credentialIds = [] } = JSON.parse(options);

const bytesOf = (text) =>
  Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (letter) => letter.charCodeAt(0));

const textOf = (buffer) =>
  btoa(String.fromCharCode(...new Uint8Array(buffer)))
    .replaceAll('+', '-')
    .replaceAll('/', '_')
    .replaceAll('=', '');

const known = credentialIds.map((one) => ({ type: 'public-key', id: bytesOf(one) }));

const create = () =>
  navigator.credentials.create({
    publicKey: {
      challenge: bytesOf(challenge),
      rp: { id: party.id, name: party.name },
      user: { id: bytesOf(user.handle), name: user.name, displayName: user.name },
      excludeCredentials: known,
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
      attestation: 'none',
    },
  });

const get = () =>
  navigator.credentials.get({
    publicKey: {
      challenge: bytesOf(challenge),
      rpId: party.id,
      userVerification: 'required',
    },
  });

// A credential as JSON, as in WebAuthn level 3. Older browsers and some password managers have no working toJSON().
function jsonOf(credential) {
  try {
    return credential.toJSON();
  } catch {
    const { id, type, response } = credential;
    const names = ['clientDataJSON', 'attestationObject', 'authenticatorData', 'signature', 'userHandle'];
    const said = names.filter((name) => response[name]).map((name) => [name, textOf(response[name])]);
    return { id, rawId: id, type, response: Object.fromEntries(said), clientExtensionResults: {} };
  }
}

function report(sentence) {
  fault.textContent = sentence;
  fault.hidden = false;
  asking?.setAttribute('hidden', '');
}

function sentenceOf({ name }) {
  if (passkey === 'create' && (name === 'NotAllowedError' || name === 'AbortError')) {
    return 'No passkey was made: you cancelled, it took too long, or this device can’t check who you are. A security key needs a PIN and FIDO2: set a PIN in the settings of your system or browser, or use another device.';
  }
  if (passkey === 'create' && name === 'ConstraintError') {
    return 'This device can’t make a passkey that checks who you are. Set a PIN or screen lock on it, or use another device.';
  }
  if (name === 'NotAllowedError' || name === 'AbortError') {
    return 'No passkey was used: you cancelled, it took too long, or this device has no passkey for this site. Try again.';
  }
  if (name === 'InvalidStateError') return 'This device already has a passkey for this admin; use another device.';
  return `This browser could not use a passkey here (${name}).`;
}

async function ask(event) {
  event.preventDefault();
  const button = form.querySelector('button');
  fault.hidden = true;
  asking?.removeAttribute('hidden');
  button.disabled = true;
  try {
    const given = await (passkey === 'create' ? create() : get());
    form.elements.namedItem('credential').value = JSON.stringify(jsonOf(given));
    form.submit();
  } catch (error) {
    report(sentenceOf(error));
    button.disabled = false;
    button.focus();
  }
}

document.getElementById('without-script').hidden = true;
if (location.origin !== party.origin) {
  report(`Passkeys work only at ${party.origin}: open this page there.`);
} else if (window.PublicKeyCredential === undefined) {
  report('This browser can’t use passkeys. Use a newer browser or another device.');
} else {
  form.addEventListener('submit', ask);
  if (form.dataset.atOnce === 'yes') form.requestSubmit();
}
