/** The healthy endpoint of a webhook: node:http, which answers 200 as soon as it has the body, and measures its age. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestions } from '../harness/ipc.ts';
import { LatencyRecorder, monotonicMs, type LatencyReading } from '../harness/latency.ts';
import { readMark } from './marked-events.ts';

export type ReceiverProtocol = {
  /** Gives the port. */
  listen: { take: null; give: number };
  /** Latencies begin again; events that have come are still known. */
  reset: { take: null; give: null };
  /** When so many different events have come, or after some seconds. */
  read: { take: number; give: ReceiverReading };
};

export interface ReceiverReading {
  /** From an event's birth to its whole body here, first deliveries since `reset`. */
  readonly latency: LatencyReading;
  /** Different events since the process began. */
  readonly received: number;
  /** Bodies that are none of these events. */
  readonly strange: number;
}

/** Longer than the first retry of a webhook takes to come. */
const patienceMs = 8000;
const lookAgainMs = 10;

const received = new Set<number>();
let latency = new LatencyRecorder();
let strange = 0;

function receive(incoming: IncomingMessage, response: ServerResponse): void {
  const chunks: Buffer[] = [];
  incoming.on('data', (chunk: Buffer) => chunks.push(chunk));
  incoming.on('end', () => {
    record(Buffer.concat(chunks).toString(), monotonicMs());
    response.writeHead(200, { 'content-length': 0 }).end();
  });
}

function record(body: string, nowMs: number): void {
  const mark = readMark(body);
  if (mark === null) strange += 1;
  else if (!received.has(mark.number)) {
    received.add(mark.number);
    latency.add(nowMs - mark.bornMs);
  }
}

function listen(): Promise<number> {
  const server = createServer(receive);
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      resolve(address !== null && typeof address === 'object' ? address.port : 0);
    });
  });
}

answerQuestions<ReceiverProtocol>({
  listen,
  reset: () => {
    latency = new LatencyRecorder();
    return null;
  },
  read: async (awaited) => {
    const endMs = monotonicMs() + patienceMs;
    while (received.size < awaited && monotonicMs() < endMs) await sleep(lookAgainMs);
    return { latency: latency.read(), received: received.size, strange };
  },
});
