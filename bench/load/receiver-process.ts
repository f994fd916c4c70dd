/** The healthy endpoint of a webhook: node:http, which answers 200 as soon as it has the body, and notes how old it is. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestions } from './ipc.ts';
import { LatencyRecorder } from './latency.ts';
import { readMark } from './marked-events.ts';
import { monotonicMs } from './peer-protocol.ts';
import { receiverService, type ReceiverProtocol } from './receiver-protocol.ts';

/** Longer than the first retry of a webhook takes to come. */
const patienceMs = 8000;
const lookAgainMs = 10;

const received = new Set<number>();
let latency = new LatencyRecorder();
let repeats = 0;
let strange = 0;

function take(incoming: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    note(Buffer.concat(chunks).toString(), monotonicMs());
    response.writeHead(200, { 'content-length': 0 }).end();
  });
}

function note(body: string, nowMs: number): void {
  const mark = readMark(body);
  if (mark === null) strange += 1;
  else if (received.has(mark.number)) repeats += 1;
  else {
    received.add(mark.number);
    latency.add(nowMs - mark.bornMs);
  }
}

function listen(): Promise<number> {
  const server = createServer(take);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
}

answerQuestions<ReceiverProtocol>(receiverService, {
  listen,
  reset: () => {
    latency = new LatencyRecorder();
    return null;
  },
  read: async (awaited) => {
    const endMs = monotonicMs() + patienceMs;
    while (received.size < awaited && monotonicMs() < endMs) await sleep(lookAgainMs);
    return { latency: latency.read(), received: received.size, repeats, strange };
  },
});
