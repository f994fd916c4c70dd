/** The load process: plays backends and devices on another core than the server. */
import { setTimeout as sleep } from 'node:timers/promises';
import { answerQuestions } from '../harness/ipc.ts';
import { LatencyRecorder, monotonicMs } from '../harness/latency.ts';
import { Fleet, type LoginPlan, type LoginReading } from './fleet.ts';
import { HttpConnection, type HttpAnswer } from './http-connection.ts';
import { HttpLoad, type LoadReading, type LoadShape } from './http-load.ts';
import { signAsked, signBatches, signWakeups, type AskedKind, type RequestSet } from './signed-requests.ts';
import { WakeWatch, type WakeReading } from './wake-watch.ts';

export type LoadProtocol = {
  login: { take: LoginPlan; give: LoginReading };
  /** For `seconds`, a heartbeat of each device every `everySeconds`, evenly spread. */
  heartbeats: { take: { seconds: number; everySeconds: number }; give: null };
  lost: { take: null; give: number };
  hangUp: { take: null; give: null };
  /** Signs `devices` × `dates` distinct requests in advance. */
  sign: { take: { kind: AskedKind | 'batches'; devices: number; dates: number }; give: null };
  query: { take: LoadShape; give: LoadReading };
  signWakeups: { take: { devices: number; count: number }; give: null };
  wakeAtRate: { take: LoadShape & { ratePerSecond: number }; give: WakeReading };
  wakeOneByOne: { take: { port: number; count: number }; give: WakeReading };
  /** Sends wakeups until a packet arrives; returns its time on the shared clock. */
  wakeUntilGood: { take: { port: number }; give: number };
};

const fleet = new Fleet();
let queries: HttpLoad | null = null;
let wakeups: RequestSet | null = null;
let wakeupsUsed = 0;

async function wakeAtRate(shape: LoadProtocol['wakeAtRate']['take']): Promise<WakeReading> {
  const watch = new WakeWatch(fleet);
  const unused = nextWakeups(Math.floor(shape.seconds * shape.ratePerSecond));
  const load = new HttpLoad(unused, (device, dueMs) => watch.expect(device, dueMs));
  return watch.read(await load.run(shape));
}

/** Timeout of a packet, after which the next wakeup is sent. */
const packetMsMax = 2000;
const attemptPauseMs = 5;

/** Sends each wakeup after the response and the packet of the one before. */
async function wakeOneByOne({ port, count }: LoadProtocol['wakeOneByOne']['take']): Promise<WakeReading> {
  const watch = new WakeWatch(fleet);
  const { bytes, devices, goodStatus } = nextWakeups(count);
  const connection = await HttpConnection.open(port);
  const answers = new LatencyRecorder();
  const startMs = performance.now();
  let wrong = 0;
  let firstWrong: string | null = null;
  for (const [place, request] of bytes.entries()) {
    const answered = new Promise<HttpAnswer>((resolve, reject) => connection.listen(resolve, reject));
    const arrived = watch.next();
    const sentMs = performance.now();
    watch.expect(devices[place] ?? 0, sentMs);
    connection.send(request);
    const { status, text } = await answered;
    answers.add(performance.now() - sentMs);
    if (status === goodStatus) {
      await Promise.race([arrived, sleep(packetMsMax)]);
    } else {
      wrong += 1;
      firstWrong ??= text;
    }
  }
  connection.close();
  const seconds = (performance.now() - startMs) / 1000;
  return watch.read({ seconds, ratePerSecond: count / seconds, latency: answers.read(), wrong, firstWrong });
}

/** For a restarting server: each attempt uses a new connection. */
async function wakeUntilGood({ port }: { readonly port: number }): Promise<number> {
  const watch = new WakeWatch(fleet);
  for (;;) {
    const connection = await HttpConnection.open(port).catch(() => null);
    const arrived = watch.next();
    const status = connection === null ? 0 : await wakeOnce(connection, watch);
    if (status === 202 && (await Promise.race([arrived.then(() => true), sleep(packetMsMax, false)])))
      return monotonicMs();
    await sleep(attemptPauseMs);
  }
}

/** Resolves with the status; 0: no response. */
async function wakeOnce(connection: HttpConnection, watch: WakeWatch): Promise<number> {
  const { bytes, devices } = nextWakeups(1);
  const answered = new Promise<number>((resolve) =>
    connection.listen(
      ({ status }) => resolve(status),
      () => resolve(0),
    ),
  );
  watch.expect(devices[0] ?? 0, performance.now());
  connection.send(bytes[0] ?? Buffer.alloc(0));
  const status = await answered;
  connection.close();
  return status;
}

/** Returns unused wakeups: a request that was sent before is a repeat, which wakes no device. */
function nextWakeups(count: number): RequestSet {
  const from = wakeupsUsed;
  wakeupsUsed += count;
  if (wakeups === null || wakeupsUsed > wakeups.bytes.length) throw new Error('too few wakeups were signed');
  const { bytes, devices, marks, goodStatus } = wakeups;
  return {
    bytes: bytes.slice(from, wakeupsUsed),
    devices: devices.slice(from, wakeupsUsed),
    marks: marks.slice(from, wakeupsUsed),
    goodStatus,
  };
}

answerQuestions<LoadProtocol>({
  login: (plan) => fleet.login(plan),
  heartbeats: ({ seconds, everySeconds }) => fleet.heartbeats(seconds, everySeconds),
  lost: () => fleet.lost,
  hangUp: () => {
    fleet.hangUp();
    return null;
  },
  sign: ({ kind, devices, dates }) => {
    const set = kind === 'batches' ? signBatches(devices, dates) : signAsked(kind, devices, dates);
    queries = new HttpLoad(set);
    globalThis.gc?.();
    return null;
  },
  query: (shape) => {
    if (queries === null) throw new Error('no queries were signed');
    return queries.run(shape);
  },
  signWakeups: ({ devices, count }) => {
    wakeups = signWakeups(devices, count);
    wakeupsUsed = 0;
    globalThis.gc?.();
    return null;
  },
  wakeAtRate,
  wakeOneByOne,
  wakeUntilGood,
});
