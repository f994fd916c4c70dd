/**
 * The minimum that can deliver an event: one immediate HTTP POST of the same body, over keep-alive connections of node:http. No
 * log, signature, order or retry. Argument: the receiver's port.
 */
import { Agent, request } from 'node:http';
import type { LoggedEvent } from '../../src/model/events.ts';
import { generateEventId, type ProductId } from '../../src/model/ids.ts';
import { encodeEvent } from '../../src/protocol/rest/events.ts';
import { answerQuestions } from '../harness/ipc.ts';
import { markedEvent, type EventSourceProtocol } from '../load/marked-events.ts';
import { Pace } from '../load/pace.ts';

const agent = new Agent({ keepAlive: true });
const port = Number(process.argv[2]);
let written = 0;
let pace: Pace | null = null;

function post(devices: number): void {
  const draft = markedEvent(written, devices);
  written += 1;
  const seq = 1 + Math.floor(written / devices);
  const place = { id: generateEventId(draft.atMs, written), sequence: written, seq };
  const event: LoggedEvent = { ...draft, ...place, productId: 'doorbell' as ProductId };
  const body = Buffer.from(encodeEvent(event));
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const sent = request({ host: '127.0.0.1', port, path: '/hook', method: 'POST', agent, headers });
  sent.on('response', (response) => response.resume());
  sent.on('error', (error) => console.error(error.message));
  sent.end(body);
}

answerQuestions<EventSourceProtocol>({
  write: ({ devices, ratePerSecond }) => {
    pace = new Pace(ratePerSecond, () => post(devices));
    return null;
  },
  rest: () => {
    pace?.stop();
    return written;
  },
});
