import { Elysia } from 'elysia';

// The baseline of the start: an empty application of the framework.

new Elysia().get('/', 'ok').listen({ hostname: '127.0.0.1', port: Number(process.env.PORT) });
