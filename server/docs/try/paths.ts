/** Where the page is, and the two files that it loads, as paths of this server. */
export const TRY_PATHS = {
  page: '/docs/try',
  script: '/docs/try/swagger-ui.js',
  style: '/docs/try/swagger-ui.css',
} as const;
