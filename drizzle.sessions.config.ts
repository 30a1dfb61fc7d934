import type { Config } from 'drizzle-kit';

// biome-ignore lint/style/noDefaultExport: drizzle-kit reads the default export
export default {
  dialect: 'sqlite',
  schema: './shared/sessions-file/schema.ts',
  out: './drizzle/sessions',
} satisfies Config;
