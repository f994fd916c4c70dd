/**
 * Login lines mutated and cut at random. The decoder agrees with a simple reference reader of the whole line, wherever the bytes
 * were cut. The canary is a decoder with a plausible fault, which the fuzzer has to catch. The same lines go to sleep ports, in
 * process and through an edge, which answer as the page says.
 */
import assert from 'node:assert/strict';
import { test, type TestContext } from 'node:test';
import {
  computeLoginMac,
  LoginLineDecoder,
  type LoginLineStep,
} from '../../src/protocol/sleep/login-line.ts';
import { DrivenClock } from '../support/driven-clock.ts';
import { FakeSleepSessions } from '../support/fake-device-sessions.ts';
import { FakeLog, FakeTelemetry } from '../support/fakes.ts';
import { RawPeer } from '../support/raw-peer.ts';
import { chanceFrom } from '../support/seeded-random.ts';
import { sleepFronts, type MakeFront } from '../support/sleep-fronts.ts';

const seed = Number(process.env['FUZZ_SEED'] ?? 20_261_120);
const rounds = Number(process.env['FUZZ_ROUNDS'] ?? 4000);
/** A line to a port takes 20 times as long as one to a decoder. */
const portRounds = Math.ceil(rounds / 20);

type Verdict = string;
interface Decoder {
  feed(chunk: Buffer): LoginLineStep;
}

/** The reference reader: an independent implementation of the page, line by line of its table. */
function expectedVerdict(bytes: Buffer): Verdict {
  const text = bytes.toString('latin1');
  const lineEnd = text.indexOf('\n');
  const isLong = lineEnd === -1 ? bytes.length > 1024 : lineEnd > 1024;
  if (!isLong && lineEnd === -1) return 'incomplete';
  const line = isLong ? text.slice(0, 1024) : text.slice(0, lineEnd).replace(/\r$/, '');
  const fields = line.split(' ');
  const canReadReply = isLong ? fields.length > 5 : fields.length > 4;
  if (!isLong && isGood(fields)) return `login ${fields.join(' ')} rest ${text.slice(lineEnd + 1)}`;
  return `invalid ${canReadReply && fields[4] === '1'}`;
}

function isGood(fields: readonly string[]): boolean {
  const [version, id = '', wake = '', heartbeat = '', reply = '', mac = ''] = fields;
  if (fields.length !== 6 || version !== 'RVL1' || !['fixed', 'custom', 'none'].includes(wake)) return false;
  const seconds = Number.parseInt(heartbeat, 10);
  if (String(seconds) !== heartbeat || seconds < 5 || seconds > 3600) return false;
  if ((reply !== '0' && reply !== '1') || mac.length !== 64) return false;
  if (mac.split('').some((digit) => !'0123456789abcdef'.includes(digit))) return false;
  const bytes = Buffer.from(id, 'base64url');
  const isCanonical =
    bytes.toString('base64').replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '') === id;
  return (
    isCanonical &&
    bytes.length >= 1 &&
    bytes.length <= 255 &&
    Buffer.from(bytes.toString('utf8'), 'utf8').equals(bytes)
  );
}

function verdictOf(step: LoginLineStep): Verdict {
  if (step.kind === 'incomplete') return 'incomplete';
  if (step.kind === 'invalid') return `invalid ${step.wantsReply}`;
  const { login, rest } = step;
  const id = Buffer.from(login.deviceId, 'utf8').toString('base64url');
  const fields = `RVL1 ${id} ${login.wakeMode} ${login.heartbeatSeconds} ${login.wantsReply ? 1 : 0}`;
  assert.equal(login.signedText, fields);
  return `login ${fields} ${Buffer.from(login.mac).toString('hex')} rest ${rest.toString('latin1')}`;
}

function pick<Item>(random: () => number, items: readonly Item[]): Item {
  const item = items[Math.floor(random() * items.length)];
  assert(item !== undefined);
  return item;
}

function randomHex(random: () => number, digits: number): string {
  return Array.from({ length: digits }, () => Math.floor(random() * 16).toString(16)).join('');
}

const ids = ['a', 'TESTDEVICE01', 'gerät', '睡眠', '😀', 'a'.repeat(255), '\ufeffx'];

/** With the right mac of its text over `sessionKey`, or a random one. */
function goodLine(random: () => number, sessionKey: string | null = null): string {
  const id = Buffer.from(pick(random, ids), 'utf8').toString('base64url');
  const heartbeat = pick(random, [5, 15, 50, 3600]);
  const end = pick(random, ['\n', '\r\n', '\nheartbeat', '\n\n']);
  const text = `RVL1 ${id} ${pick(random, ['fixed', 'custom', 'none'])} ${heartbeat} ${pick(random, [0, 1])}`;
  const mac = sessionKey === null ? randomHex(random, 64) : macOf(text, sessionKey);
  return `${text} ${mac}${end}`;
}

type Breakage = (line: string, at: number, random: () => number) => string;
const breakages: readonly Breakage[] = [
  (line) => line,
  (line, at) => line.slice(0, at) + line.slice(at + 1),
  (line, at, random) =>
    line.slice(0, at) + String.fromCharCode(Math.floor(random() * 256)) + line.slice(at + 1),
  (line, at, random) =>
    line.slice(0, at) + pick(random, [' ', '0', '\n', '\r', '=', '_', 'é', '\0']) + line.slice(at),
  (line, at, random) => line.slice(0, at) + 'x'.repeat(Math.floor(random() * 2000)) + line.slice(at),
  (line, at) => line.slice(0, at),
  (line, at) => line.slice(0, at) + line.slice(at).toUpperCase(),
  (line) => line.replace(/ (\d+) ([01])/, ' 0$1 $2'),
  (line) => line.replace(/^RVL1 (\S+)\S /, 'RVL1 $1 '),
];

const secret = 'device-secret';

function macOf(text: string, sessionKey: string): string {
  return computeLoginMac(secret, sessionKey, text).toString('hex');
}

function brokenLine(random: () => number, sessionKey: string | null = null): Buffer {
  let line = goodLine(random, sessionKey);
  for (let i = Math.floor(random() * 3); i > 0; i--)
    line = pick(random, breakages)(line, Math.floor(random() * line.length), random);
  return Buffer.from(line, 'latin1');
}

function decode(decoder: Decoder, bytes: Buffer, random: () => number): Verdict {
  let verdict: Verdict = 'incomplete';
  let at = 0;
  while (at < bytes.length && verdict === 'incomplete') {
    const size = pick(random, [1, 7, 64, 500, 5000]);
    verdict = verdictOf(decoder.feed(bytes.subarray(at, at + size)));
    at += size;
  }
  // Bytes not fed yet when the line ended belong to the rest.
  return verdict.startsWith('login') ? verdict + bytes.subarray(at).toString('latin1') : verdict;
}

/** Null: every round agreed; else the first that did not. */
function fuzz(makeDecoder: () => Decoder): string | null {
  const random = chanceFrom(seed).next;
  for (let round = 0; round < rounds; round++) {
    const bytes = brokenLine(random);
    const expected = expectedVerdict(bytes);
    const verdict = decode(makeDecoder(), bytes, random);
    if (verdict !== expected) return `seed ${seed}, round ${round}: ${verdict} instead of ${expected}`;
  }
  return null;
}

test('every mutated line is read as the page says, wherever it is cut', () => {
  assert.equal(
    fuzz(() => new LoginLineDecoder()),
    null,
  );
});

test('the fuzzer catches a decoder that forgets earlier chunks', () => {
  assert.notEqual(
    fuzz(() => ({ feed: (chunk) => new LoginLineDecoder().feed(chunk) })),
    null,
  );
});

interface PortScene {
  readonly peer: RawPeer;
  readonly sessions: FakeSleepSessions;
  readonly awaitIdle: () => Promise<void>;
}

/** Asserts the peer's bytes and the sessions' logins by the reference verdict. Returns a word for it. */
async function checkAnswer(
  { peer, sessions, awaitIdle }: PortScene,
  verdict: Verdict,
  key: string,
): Promise<string> {
  if (verdict === 'incomplete') {
    await awaitIdle();
    assert.equal(peer.unread, 0);
    return verdict;
  }
  const [, text = '', reply, mac] = /^login (RVL1 \S+ \S+ \d+ ([01])) (\w{64}) rest/.exec(verdict) ?? [];
  const refusal = verdict.startsWith('invalid') ? 'malformed' : mac === macOf(text, key) ? null : 'denied';
  const isTold = reply === '1' || verdict === 'invalid true';
  if (refusal !== null) {
    assert.equal(await peer.readAll(), isTold ? `ERR ${refusal}\n` : '');
    return `${refusal} ${isTold}`;
  }
  if (isTold) assert.equal(await peer.read(3), 'OK\n');
  await sessions.loggedIn();
  assert.equal(sessions.logins.splice(0)[0]?.signedText, text);
  return `accepted ${isTold}`;
}

async function fuzzPort(t: TestContext, make: MakeFront): Promise<void> {
  const [random, clock, sessions] = [chanceFrom(seed).next, new DrivenClock(), new FakeSleepSessions()];
  for (const id of ids) sessions.secrets.set(id, secret);
  const front = await make({ clock, sessions, telemetry: new FakeTelemetry(), log: new FakeLog() });
  t.after(() => front.close());
  const seen = new Set<string>();
  for (let round = 0; round < portRounds; round++) {
    const peer = await RawPeer.connect(front.listener.address.port);
    const key = await peer.read(32);
    const bytes = brokenLine(random, random() < 0.7 ? key : null);
    const cut = Math.floor(random() * bytes.length);
    peer.send(bytes.subarray(0, cut));
    peer.send(bytes.subarray(cut));
    const scene = { peer, sessions, awaitIdle: () => front.untilIdle() };
    seen.add(await checkAnswer(scene, expectedVerdict(bytes), key));
    peer.socket.destroy();
    clock.advance(1000);
  }
  // Accepted, denied and malformed, each with and without a reply, and incomplete.
  assert.equal(seen.size, 7);
}

for (const { name, make } of sleepFronts)
  test(`a sleep port ${name} answers every broken line as the page says`, (t) => fuzzPort(t, make));
