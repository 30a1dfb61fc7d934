import type { Config } from 'drizzle-kit';

// biome-ignore lint/style/noDefaultExport: drizzle-kit reads the default export
export default { dialect: 'sqlite', schema: './shared/db/schema/*.ts', out: './drizzle/main' } satisfies Config;
