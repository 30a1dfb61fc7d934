/** The paths of the page for trying the API, and of the two files that it loads. */
export const TRY_PATHS = {
  page: '/docs/try',
  script: '/docs/try/swagger-ui.js',
  style: '/docs/try/swagger-ui.css',
} as const;
