// Runs after Swagger UI's bundle and before the page calls SwaggerUIBundle. Adds functions, which the options of
// @elysiajs/openapi can't contain, because they are JSON.
(() => {
  const original = window.SwaggerUIBundle;

  // The page begins with its key and the operations: /docs tells the rest.
  const briefly = (next) => (document) => {
    const { title, version } = document.info;
    next({ ...document, info: { title, version } });
  };

  // People copy and share the curl command, so it shows a placeholder instead of the key.
  const masked = (request) =>
    request.update('headers', (headers) =>
      headers?.map((value, name) => (name.toLowerCase() === 'authorization' ? 'Bearer <your key>' : value)),
    );
  const withoutKey =
    (Curl, { React }) =>
    (props) =>
      React.createElement(Curl, { ...props, request: masked(props.request) });

  const plugin = {
    statePlugins: { spec: { wrapActions: { updateJsonSpec: briefly } } },
    wrapComponents: { curl: withoutKey },
  };
  window.SwaggerUIBundle = (options) => original({ ...options, plugins: [plugin] });

  // Swagger UI's dialog for the key waits for a submit event, which browsers don't fire, because the sandbox forbids forms.
  document.addEventListener('click', (event) => {
    const button = event.target.closest?.('button[type=submit]');
    if (!button?.form) return;
    event.preventDefault();
    button.form.dispatchEvent(new Event('submit', { bubbles: true, cancelable: true }));
  });
})();
