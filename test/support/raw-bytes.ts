/** Raw bytes at listeners: openings that a peer could mean well, broken at random, cut at random, ended at random. */
import { connect, type Socket } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import type { Chance } from './seeded-random.ts';

export interface RawTarget {
  readonly name: string;
  readonly port: number;
  /** What peers of this listener begin with. */
  readonly openings: readonly Buffer[];
  /** A whole exchange as it should be; rejects when the listener does not keep its part. */
  readonly works: () => Promise<void>;
}

export interface RawFuzz {
  readonly chance: Chance;
  readonly exchanges: number;
  /** At once. */
  readonly width: number;
  /** Milliseconds that a listener has to hang up on a peer that is gone, or to do a whole exchange. */
  readonly patienceMs: number;
}

/** What strangers of other protocols say, and what has broken parsers before. */
const strangeBytes: readonly Buffer[] = [
  Buffer.from('160301020001000', 'hex'),
  Buffer.from('\r\n\r\n'),
  Buffer.from('\n\n'),
  Buffer.from([0]),
  Buffer.alloc(300, 0xff),
  Buffer.from('0\r\n\r\nGET / HTTP/1.1\r\n\r\n'),
  Buffer.from('Content-Length: 18446744073709551616\r\n'),
  Buffer.from('Transfer-Encoding: chunked\r\n'),
  Buffer.from([0x89, 0x80, 0, 0, 0, 0]),
  Buffer.from([0x81, 0xff, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
  Buffer.alloc(70_000, 'x'),
];

type Mutation = (bytes: Buffer, chance: Chance, others: readonly Buffer[]) => Buffer;

function splice(bytes: Buffer, at: number, removed: number, put: Uint8Array = Buffer.alloc(0)): Buffer {
  return Buffer.concat([bytes.subarray(0, at), put, bytes.subarray(at + removed)]);
}

const mutations: readonly Mutation[] = [
  (bytes, chance) => {
    const at = chance.below(bytes.length);
    return splice(bytes, at, 1, Buffer.from([(bytes[at] ?? 0) ^ (1 << chance.below(8))]));
  },
  (bytes, chance) => splice(bytes, chance.below(bytes.length), 1 + chance.below(8)),
  (bytes, chance) => splice(bytes, chance.below(bytes.length), 0, pick(chance, strangeBytes)),
  (bytes, chance) => splice(bytes, chance.below(bytes.length), 0, Buffer.from([chance.below(256)])),
  (bytes, chance) => bytes.subarray(0, chance.below(bytes.length)),
  (bytes) => Buffer.concat([bytes, bytes]),
  (bytes, chance, others) => Buffer.concat([bytes, pick(chance, others)]),
  (bytes) => Buffer.from(bytes.toString('latin1').replaceAll('\r\n', '\n'), 'latin1'),
  (bytes, chance) => Buffer.concat([Buffer.from(Array.from({ length: 20 }, () => chance.below(256))), bytes]),
];

function pick<Item>(chance: Chance, items: readonly Item[]): Item {
  const item = items[chance.below(items.length)];
  if (item === undefined) throw new Error('nothing to pick from');
  return item;
}

function broken({ openings }: RawTarget, everybody: readonly Buffer[], chance: Chance): Buffer {
  let bytes = pick(chance, openings);
  for (let i = chance.below(4); i > 0 && bytes.length > 0; i--)
    bytes = pick(chance, mutations)(bytes, chance, everybody);
  return bytes;
}

function cut(bytes: Buffer, chance: Chance): Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length && pieces.length < 12;) {
    const size = pick(chance, [1, 2, 7, 64, 500, 100_000]);
    pieces.push(bytes.subarray(at, at + size));
    at += size;
  }
  return pieces;
}

type Ending = 'fin' | 'reset' | 'unwakeable';

interface Exchange {
  readonly target: RawTarget;
  readonly pieces: readonly Buffer[];
  readonly ending: Ending;
  /** Bounds for one address are not what is looked for here. */
  readonly localAddress: string;
}

/** Null: the listener took it and let go of it; else what it did not do. */
async function play(
  { target, pieces, ending, localAddress }: Exchange,
  patienceMs: number,
): Promise<string | null> {
  const socket = connect({ port: target.port, host: '127.0.0.1', localAddress, noDelay: true });
  // A reset is an answer, too.
  socket.on('error', () => undefined);
  const gone = new Promise<boolean>((resolve) => socket.once('close', () => resolve(false)));
  const connected = new Promise<boolean>((resolve) => socket.once('connect', () => resolve(true)));
  const isConnected = await Promise.race([connected, gone]);
  if (!isConnected) return `${target.name} takes no connection`;
  if (ending !== 'unwakeable') socket.resume();
  for (const piece of pieces) {
    if (socket.writable) socket.write(piece);
    await turn();
  }
  if (ending === 'reset') socket.resetAndDestroy();
  else socket.end();
  if (ending === 'unwakeable') socket.resume();
  return (await within(patienceMs, gone)) ? null : hung(socket, target);
}

function hung(socket: Socket, { name }: RawTarget): string {
  socket.destroy();
  return `${name} does not let go of a peer that is gone`;
}

async function within(patienceMs: number, awaited: Promise<unknown>): Promise<boolean> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => (timer = setTimeout(() => resolve(false), patienceMs)));
  try {
    return await Promise.race([awaited.then(() => true), late]);
  } finally {
    clearTimeout(timer);
  }
}

async function findSilent(targets: readonly RawTarget[], patienceMs: number): Promise<string | null> {
  for (const { name, works } of targets) {
    const reason = await within(patienceMs, works()).then(
      (isDone) => (isDone ? null : 'nothing came'),
      (error: Error) => error.message,
    );
    if (reason !== null) return `${name} does not work any more: ${reason}`;
  }
  return null;
}

/** The first fault that was seen, with the round in which it was; null: there was none. */
export async function fuzzListeners(targets: readonly RawTarget[], fuzz: RawFuzz): Promise<string | null> {
  const { chance, exchanges, width, patienceMs } = fuzz;
  const everybody = targets.flatMap(({ openings }) => openings);
  for (let done = 0; done < exchanges; done += width) {
    const round = Array.from({ length: width }, (): Exchange => {
      const target = pick(chance, targets);
      return {
        target,
        pieces: cut(broken(target, everybody, chance), chance),
        ending: pick(chance, ['fin', 'fin', 'fin', 'reset', 'unwakeable']),
        localAddress: `127.0.${1 + chance.below(4)}.${1 + chance.below(250)}`,
      };
    });
    const faults = await Promise.all(round.map((exchange) => play(exchange, patienceMs)));
    const fault = faults.find((found) => found !== null) ?? (await findSilent(targets, patienceMs));
    if (fault !== null) return `after ${done + width} exchanges: ${fault}`;
  }
  return null;
}
