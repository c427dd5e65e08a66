/** A good engineer's solution of one day: products as JSON documents, and everything on one thread. */
import { DatabaseSync } from 'node:sqlite';
import Fastify from 'fastify';

const [path = ':memory:'] = process.argv.slice(2);
const database = new DatabaseSync(path);
database.exec('pragma journal_mode = wal; pragma synchronous = full;');
database.exec('create table if not exists product (identifier text primary key, document text not null)');
const insert = database.prepare('insert or replace into product values (?, ?)');
const find = database.prepare('select document from product where identifier = ?');

const server = Fastify({ bodyLimit: 128 * 1024 * 1024 });

server.post('/products', async (request, reply) => {
  const { products } = request.body as { products: { identifier: string; name: string }[] };
  const bad = products.find(
    ({ identifier, name }) => typeof identifier !== 'string' || typeof name !== 'string',
  );
  if (bad !== undefined) return reply.code(400).send({ status: 'failure' });
  database.exec('begin');
  try {
    for (const product of products) insert.run(product.identifier, JSON.stringify(product));
    database.exec('commit');
  } catch (error) {
    database.exec('rollback');
    throw error;
  }
  return { status: 'success', count: products.length };
});

server.get('/products', async (request, reply) => {
  const { identifiers } = request.query as { identifiers: string };
  const documents: string[] = [];
  for (const identifier of JSON.parse(identifiers) as string[]) {
    const row = find.get(identifier);
    if (row !== undefined) documents.push(String(row.document));
  }
  reply.type('application/json; charset=utf-8');
  return `{"products":[${documents.join(',')}]}`;
});

console.log(await server.listen({ host: '127.0.0.1', port: 0 }));
