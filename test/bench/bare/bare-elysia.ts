import { Elysia } from 'elysia';

// An empty application of the framework, for comparing the start.

new Elysia().get('/', 'ok').listen({ hostname: '127.0.0.1', port: Number(process.env.PORT) });
