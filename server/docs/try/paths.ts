/** The paths of the try-it page, and of the two files that it loads. */
export const TRY_PATHS = {
  page: '/docs/try',
  script: '/docs/try/swagger-ui.js',
  style: '/docs/try/swagger-ui.css',
} as const;
