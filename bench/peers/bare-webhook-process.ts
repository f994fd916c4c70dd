/**
 * The minimum that can deliver an event: one immediate HTTP POST of the same body, over keep-alive connections of node:http. No
 * log, signature, order or retry. Arguments: the receiver's port; a directory, to commit each event to an lmdb store there before its
 * POST.
 */
import { Agent, request } from 'node:http';
import { open } from 'lmdb';
import type { LoggedEvent } from '../../src/model/events.ts';
import { generateEventId, type ProductId } from '../../src/model/ids.ts';
import { encodeEvent } from '../../src/protocol/rest/events.ts';
import { answerQuestions } from '../harness/ipc.ts';
import { markedEvent, type EventSourceProtocol } from '../load/marked-events.ts';
import { Pace } from '../load/pace.ts';

const agent = new Agent({ keepAlive: true });
const port = Number(process.argv[2]);
const directory = process.argv[3];
const store = directory === undefined ? null : open<LoggedEvent, number>({ path: directory });
let written = 0;
let pace: Pace | null = null;

async function publish(devices: number): Promise<void> {
  const draft = markedEvent(written, devices);
  written += 1;
  const seq = 1 + Math.floor(written / devices);
  const place = { id: generateEventId(draft.atMs, written), sequence: written, seq };
  const event: LoggedEvent = { ...draft, ...place, productId: 'doorbell' as ProductId };
  if (store !== null) await store.put(event.sequence, event);
  post(event);
}

function post(event: LoggedEvent): void {
  const body = Buffer.from(encodeEvent(event));
  const headers = { 'content-type': 'application/json', 'content-length': body.length };
  const sent = request({ host: '127.0.0.1', port, path: '/hook', method: 'POST', agent, headers });
  sent.on('response', (response) => response.resume());
  sent.on('error', (error) => console.error(error.message));
  sent.end(body);
}

answerQuestions<EventSourceProtocol>({
  write: ({ devices, ratePerSecond }) => {
    pace = new Pace(ratePerSecond, () => void publish(devices));
    return null;
  },
  rest: () => {
    pace?.stop();
    return written;
  },
});
