import { Elysia } from 'elysia';

// An application of the framework with nothing in it: what starting is compared with.

new Elysia().get('/', 'ok').listen({ hostname: '127.0.0.1', port: Number(process.env.PORT) });
