/**
 * Raw bytes to every listener of a running server. Whatever arrives, and however the peer leaves, the listener closes the
 * connection and serves others; no session is lost, nothing is thrown, no descriptor leaks. The canaries are listeners with
 * plausible faults, which the fuzzer has to catch.
 */
import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { createServer, type AddressInfo, type Socket, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { test, type TestContext } from 'node:test';
import { SystemClock } from '../../src/lib/system-clock.ts';
import { connectPsk, listenPsk } from '../../src/lib/link/psk-transport.ts';
import { mediaPsk } from '../../src/media/link/media-language.ts';
import { encodeLoginLine } from '../../src/protocol/sleep/login-line.ts';
import { bridgePath, devicePath, downlinkPath } from '../support/media-peer.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { chanceFrom, type Chance } from '../support/seeded-random.ts';
import { encodeFrame, loginText, opcodes, upgradeRequest } from '../support/signal-peer.ts';
import { hangMsMax } from '../support/hang-limit.ts';
import type { SiteServer } from '../support/site-server.ts';
import { startTestServer, type TestServer } from '../support/test-server.ts';
import { startTestSite } from '../support/test-site.ts';

interface RawTarget {
  readonly name: string;
  readonly port: number;
  /** First bytes of a peer of this listener. */
  readonly openings: readonly Buffer[];
  /** A whole valid exchange; rejects when the listener fails it. */
  readonly works: () => Promise<void>;
}

interface RawFuzz {
  readonly chance: Chance;
  readonly exchanges: number;
  readonly width: number;
  /** Milliseconds that a listener has to close the connection of a peer that has left, or for a whole exchange. */
  readonly patienceMs: number;
}

/** First bytes of other protocols, and bytes that have broken parsers before. */
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
  /** Varied, because per-address bounds are not under test. */
  readonly localAddress: string;
}

/** Null: the listener accepted and closed it; else its fault. */
async function play(
  { target, pieces, ending, localAddress }: Exchange,
  patienceMs: number,
): Promise<string | null> {
  const socket = connect({ port: target.port, host: '127.0.0.1', localAddress, noDelay: true });
  // A reset is also an answer.
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

/** The first fault, with its round; null: none. */
async function fuzzListeners(targets: readonly RawTarget[], fuzz: RawFuzz): Promise<string | null> {
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

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_122);
const exchanges = Number(process.env['FUZZ_ROUNDS'] ?? 900);

function fuzzOf(more: Partial<RawFuzz> = {}): RawFuzz {
  return { chance: chanceFrom(seed), exchanges, width: 50, patienceMs: hangMsMax, ...more };
}

const host = 'Host: 127.0.0.1\r\n';
const json = 'Content-Type: application/json\r\n';
const wakeBody = '{"device_id":"SLEEPING01"}';
const signed =
  'Authorization: TGV1-HMAC-SHA256 Credential=AKtest-all/20261122/device/tgv1_request, SignedHeaders=host;x-tg-date, ' +
  `Signature=${'0'.repeat(64)}\r\nX-Tg-Date: 20261122T000000Z\r\n`;
const login = encodeLoginLine(
  {
    deviceId: 'SLEEPING01',
    secret: 'not the secret',
    wakeMode: 'custom',
    heartbeatSeconds: 50,
    wantsReply: true,
  },
  'k'.repeat(32),
);
/** PROXY protocol v2: a TCP connection over IPv4, and one of the proxy's own. */
const proxySignature = '0d0a0d0a000d0a515549540a';
const proxied = Buffer.from(`${proxySignature}2111000c7f0000017f0000011f901f91`, 'hex');
const ownOfProxy = Buffer.from(`${proxySignature}20000000`, 'hex');

function bytesOf(...parts: readonly (string | Buffer)[]): Buffer {
  return Buffer.concat(parts.map((part) => Buffer.from(part)));
}

const openings: Readonly<
  Record<'api' | 'sleep' | 'proxied' | 'signal' | 'media' | 'link' | 'ops', readonly Buffer[]>
> = {
  api: [
    bytesOf(`GET /v1/device/connectivity?device_id=SLEEPING01 HTTP/1.1\r\n${host}${signed}\r\n`),
    bytesOf(
      `POST /v1/device/wakeup HTTP/1.1\r\n${host}${json}${signed}Content-Length: ${wakeBody.length}\r\n\r\n${wakeBody}`,
    ),
    bytesOf(
      `POST /v1/device/wakeup HTTP/1.1\r\n${host}${json}Transfer-Encoding: chunked\r\n\r\n5\r\n{"a":\r\n2\r\n1}\r\n0\r\n\r\n`,
    ),
  ],
  sleep: [bytesOf(login), bytesOf(login, 'heartbeat'.repeat(3))],
  proxied: [bytesOf(proxied, login), bytesOf(ownOfProxy, login)],
  signal: [
    bytesOf(upgradeRequest(), encodeFrame(loginText('k'.repeat(32), 'SLEEPING01'))),
    bytesOf(upgradeRequest(), encodeFrame('', { opcode: opcodes.ping }), encodeFrame('{', { fin: false })),
    bytesOf(upgradeRequest(), encodeFrame('\u0003\u00e8', { opcode: opcodes.close }), encodeFrame('x')),
  ],
  media: [
    bytesOf(
      upgradeRequest({ Authorization: 'Bearer a.b.c' }, `GET ${devicePath}`),
      encodeFrame('{"type":"accept"}'),
    ),
    bytesOf(
      upgradeRequest({ Authorization: 'Bearer key' }, `GET ${bridgePath}`),
      encodeFrame('x', { opcode: opcodes.binary }),
    ),
    bytesOf(`GET ${downlinkPath}?ticket=none HTTP/1.1\r\n${host}\r\n`),
  ],
  // A TLS 1.2 hello with the one cipher of the link, and one without any.
  link: [
    Buffer.from(
      `16030100430100003f0303${'5a'.repeat(32)}000004ccac00ff01000012000a00080006001d00170018000b00020100`,
      'hex',
    ),
    Buffer.from('1603010007010000030303ff', 'hex'),
  ],
  ops: [
    bytesOf(`GET /readyz HTTP/1.1\r\n${host}\r\n`),
    bytesOf(
      `POST /v1/device/kick HTTP/1.1\r\n${host}Authorization: Bearer none\r\n${json}Content-Length: 2\r\n\r\n{}`,
    ),
    bytesOf(
      `POST /v1/registry/import HTTP/1.1\r\n${host}Authorization: Bearer none\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    ),
  ],
};

async function statusAt(port: number, path: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${port}${path}`, { headers: { connection: 'close' } });
  await answer.arrayBuffer();
  return answer.status;
}

function targetsOf(server: TestServer): RawTarget[] {
  const { ports, api } = server;
  return [
    {
      name: 'api',
      port: ports.api,
      openings: openings.api,
      works: async () => assert.equal((await api.connectivity('TESTDEVICE01')).json.code, 0),
    },
    {
      name: 'sleep',
      port: ports.sleep,
      openings: openings.sleep,
      works: async () => (await server.module('SLEEPING01')).close(),
    },
    {
      name: 'signal',
      port: ports.signal,
      openings: openings.signal,
      works: async () => {
        const signedIn = await server.controller('SLEEPING01');
        signedIn.close();
        await signedIn.closed;
      },
    },
    {
      name: 'media',
      port: ports.media,
      openings: openings.media,
      works: async () => assert.equal(await statusAt(ports.media, downlinkPath), 401),
    },
    {
      name: 'ops',
      port: ports.ops,
      openings: openings.ops,
      works: async () => assert.equal(await statusAt(ports.ops, '/readyz'), 200),
    },
  ];
}

function proxiedTarget({ ports }: TestServer): RawTarget {
  const works = async (): Promise<void> => {
    const peer = await RawPeer.connect(ports.sleep);
    peer.send(proxied);
    assert.equal((await peer.read(32)).length, 32);
    peer.socket.destroy();
  };
  return { name: 'sleep behind a proxy', port: ports.sleep, openings: openings.proxied, works };
}

function edgeTarget(site: SiteServer): RawTarget {
  const works = async (): Promise<void> => (await site.module('SLEEPING01')).close();
  return { name: 'sleep at an edge', port: site.ports.sleep, openings: openings.sleep, works };
}

/** The gate of a remote media process: a peer with the key is admitted and then declined. */
async function linkTarget(t: TestContext): Promise<RawTarget> {
  const address = { host: '127.0.0.1', key: randomBytes(32) };
  const clock = new SystemClock();
  const gate = await listenPsk(
    { ...address, port: 0 },
    mediaPsk,
    clock,
    (link) => link.end('away'),
    () => undefined,
  );
  t.after(() => gate.close());
  const works = async (): Promise<void> => {
    const link = await connectPsk({ ...address, port: gate.port }, mediaPsk, clock);
    assert.equal((await link.setEncoding('utf8').toArray()).join(''), 'away');
  };
  return { name: 'media link', port: gate.port, openings: openings.link, works };
}

/** Descriptors of this process, which has both ends; 0: the system does not report them. */
function openDescriptors(): number {
  return process.platform === 'linux' ? readdirSync('/proc/self/fd').length : 0;
}

test('raw bytes break no listener, end no session and leak no descriptor', async (t) => {
  t.diagnostic(`FUZZ_SEED=${seed}`);
  // The check after each exchange logs one device in.
  const rate = 'limits.device_logins_per_second=1000';
  const server = await startTestServer({ overrides: [rate] });
  t.after(() => server.stop());
  const behindProxy = await startTestServer({
    overrides: ['sleep.proxy_protocol=true', 'media.process=none', rate],
  });
  t.after(() => behindProxy.stop());
  const edgeSite = await startTestSite(t, 'sleep.edges=1', rate);
  const targets = [
    ...targetsOf(server),
    proxiedTarget(behindProxy),
    edgeTarget(edgeSite),
    await linkTarget(t),
  ];
  const sleeping = await server.module('TESTDEVICE01');
  const signedIn = await server.controller('TESTDEVICE01');
  const ends: string[] = [];
  void sleeping.closed.then(() => ends.push('sleep'));
  void signedIn.closed.then(() => ends.push('signal'));
  for (const { works } of targets) await works();
  const before = openDescriptors();

  assert.equal(await fuzzListeners(targets, fuzzOf()), null);

  assert.deepEqual(ends, []);
  assert.equal((await server.api.wake({ device_id: 'TESTDEVICE01' })).status, 202);
  await sleeping.nextPacket();
  // Kept connections of the two clients here may be one more or less.
  for (const most = before + 2; openDescriptors() > most;) await turn();
  const faults = [...server.log.lines, ...behindProxy.log.lines].filter(({ level }) => level === 'error');
  assert.deepEqual(faults, []);
  const linesOfEdges = edgeSite.server.command.lines.filter((line) => line.includes('"level":"error"'));
  assert.deepEqual(linesOfEdges, []);
});

/** The effect of a listener's fault: it serves nobody, or keeps this peer. */
type Shown = 'dies' | 'holds' | null;

/** Answers every peer's FIN, until a peer's bytes trigger its fault. */
async function canary(t: TestContext, fault: (seen: Buffer) => Shown): Promise<RawTarget> {
  const sockets = new Set<Socket>();
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    let seen = Buffer.alloc(0);
    let holds = false;
    sockets.add(socket);
    socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    socket.on('data', (bytes: Buffer) => {
      seen = Buffer.concat([seen, bytes]);
      const shown = fault(seen);
      holds ||= shown === 'holds';
      if (shown === 'dies') stop();
    });
    socket.on('end', () => {
      if (!holds) socket.end('bye');
    });
  });
  const stop = (): void => {
    listener.close();
    for (const socket of sockets) socket.destroy();
  };
  t.after(stop);
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const { port } = listener.address() as AddressInfo;
  const works = async (): Promise<void> => {
    const peer = await RawPeer.connect(port);
    peer.socket.end();
    assert.equal(await peer.readAll(), 'bye');
  };
  return { name: 'canary', port, openings: [...openings.sleep, ...openings.api, ...openings.signal], works };
}

const faults: readonly [string, RegExp, (seen: Buffer) => Shown][] = [
  [
    'dies of a byte that is NUL',
    /does not work|takes no connection/,
    (seen) => (seen.includes(0) ? 'dies' : null),
  ],
  [
    'holds a peer that says its line twice',
    /does not let go/,
    (seen) => (seen.indexOf('RVL1', 4) === -1 ? null : 'holds'),
  ],
];
for (const [what, told, fault] of faults)
  test(`the fuzzer catches a listener that ${what}`, async (t) => {
    const found = await fuzzListeners([await canary(t, fault)], fuzzOf({ exchanges: 900, patienceMs: 500 }));
    assert.match(found ?? 'nothing', told);
  });

test('the fuzzer finds no fault in a correct listener', async (t) => {
  const found = await fuzzListeners([await canary(t, () => null)], fuzzOf({ exchanges: 500 }));
  assert.equal(found, null);
});
