/** Bare uWebSockets.js: reads one query parameter and answers. No signatures, no store. */
import { ListeningApps } from '../../src/lib/uws.ts';
import { answerAsPeer, type PeerPorts } from './answer-as-peer.ts';
import { connectivityAnswer } from './connectivity-answer.ts';

/** The response is built once and split at the device id, the fastest form of such a handler. */
const place = '<device>';
const [before = '', after = ''] = JSON.stringify(connectivityAnswer(place)).split(place);

async function listen(): Promise<PeerPorts> {
  const at = { host: '127.0.0.1', port: 0, tls: null, sharesPort: false };
  const apps = new ListeningApps(at, (app) => {
    app.get('/v1/device/connectivity', (response, request) => {
      const body = before + (request.getQuery('device_id') ?? '') + after;
      response.writeHeader('content-type', 'application/json; charset=utf-8').end(body);
    });
  });
  await apps.listen();
  return { httpPort: apps.port, devicePort: 0 };
}

answerAsPeer(listen);
