/** Fastify as its documentation recommends: one route, a response schema for the fast serializer, no logger. No signatures. */
import Fastify, { type FastifyInstance } from 'fastify';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';
import { connectivityAnswer } from './connectivity-answer.ts';

const seconds = { type: ['integer', 'null'] };
const times = { last_login_at: seconds, last_heartbeat_at: seconds, last_offline_at: seconds };
const record = {
  type: 'object',
  properties: {
    device_id: { type: 'string' },
    signal: { type: 'object', properties: { is_online: { type: 'boolean' }, ...times } },
    sleep: { type: 'object', properties: times },
  },
};
const envelope = {
  type: 'object',
  properties: { code: { type: 'integer' }, message: { type: 'string' }, data: record },
};

function createServer(): FastifyInstance {
  const fastify = Fastify();
  fastify.get<{ Querystring: { device_id: string } }>(
    '/v1/device/connectivity',
    { schema: { response: { 200: envelope } } },
    (request, reply) => {
      void reply.send(connectivityAnswer(request.query.device_id));
    },
  );
  return fastify;
}

async function listen(): Promise<PeerPorts> {
  const fastify = createServer();
  const address = await fastify.listen({ host: '127.0.0.1', port: 0 });
  return { httpPort: Number(new URL(address).port), devicePort: 0 };
}

answerAsPeer(listen);
