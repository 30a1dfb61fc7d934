// Assets are imported as text (`with { type: 'text' }`), so that the binary contains them.

declare module '*.sql' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.jsonl' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.md' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.css' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module '*.browser.js' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: how a text import is typed
  export default text;
}

declare module 'swagger-ui-dist/*' {
  const path: string;
  // biome-ignore lint/style/noDefaultExport: how a file import is typed
  export default path;
}
