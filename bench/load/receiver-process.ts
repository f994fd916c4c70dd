/** A healthy webhook endpoint with node:http: answers 200 after the body, and measures the age of its event. */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestions } from '../harness/ipc.ts';
import { LatencyRecorder, monotonicMs, type LatencyReading } from '../harness/latency.ts';
import { readMark } from './marked-events.ts';

export type ReceiverProtocol = {
  listen: { take: null; give: number };
  /** Resets the latencies, but not the received events. */
  reset: { take: null; give: null };
  /** Answers when this many distinct events have arrived, or after some seconds. */
  read: { take: number; give: ReceiverReading };
};

export interface ReceiverReading {
  /** From an event's creation to its complete body, for first deliveries since `reset`. */
  readonly latency: LatencyReading;
  /** Distinct events since the process started. */
  readonly received: number;
  readonly strange: number;
}

/** Longer than the delay of a webhook's first retry. */
const patienceMs = 20_000;
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
