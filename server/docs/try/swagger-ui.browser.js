// Runs after Swagger UI's bundle and before the page calls SwaggerUIBundle: adds what the options of
// @elysiajs/openapi, which are JSON, can't express.
(() => {
  const original = window.SwaggerUIBundle;

  // The page's policy allows requests to the API only, so only the API's operations and its key are offered.
  const onlyApi = (next) => (document) => {
    // Operations outside of the API name a server of their own.
    const paths = Object.entries(document.paths ?? {}).filter(([, { servers }]) => servers === undefined);
    const { securitySchemes: { apiKey } = {} } = document.components ?? {};
    next({
      ...document,
      paths: Object.fromEntries(paths),
      components: { ...document.components, securitySchemes: { apiKey } },
    });
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
    statePlugins: { spec: { wrapActions: { updateJsonSpec: onlyApi } } },
    wrapComponents: { curl: withoutKey },
  };
  window.SwaggerUIBundle = (options) => original({ ...options, plugins: [plugin] });

  // The page's sandbox forbids forms, so browsers fire no submit event, for which Swagger UI's dialog for the key waits.
  document.addEventListener('click', (event) => {
    const button = event.target.closest?.('button[type=submit]');
    if (!button?.form) return;
    event.preventDefault();
    button.form.dispatchEvent(new Event('submit', { bubbles: true, cancelable: true }));
  });
})();
