/**
 * The server that the demo uses: the running server, or one of its own in a temporary directory on free ports. Either
 * way the story gets a device of its own, so that nobody's sleeping device is taken over, and it is disabled again.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert } from '../../lib/assert.ts';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { holdsPermission, isCredentialValid } from '../../model/registry.ts';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import type { Log } from '../../core/ports/log.ts';
import { readRuntimeFile, type Runtime } from '../../server/bootstrap/runtime-file.ts';
import { loadSettings } from '../../server/config/settings.ts';
import type { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { SigningCredential } from '../../protocol/tgv1/sign-request.ts';
import { apiBeside, openApi } from '../../cli/api/api-access.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, reveilleCommand } from '../../cli/shell/command-error.ts';
import { addParticipants, type DemoParticipants } from './demo-participants.ts';
import { mediaUrl, signalUrl } from '../simulator/server-urls.ts';
import { opsClientOf } from '../../cli/admin/ops-client.ts';
import { lookIntoRegistry } from '../../cli/admin/registry-look.ts';
import { reachableAddress } from '../../cli/admin/running-server.ts';
import type { Timeline } from '../bridge/timeline.ts';

export class DemoFailure extends Error {
  override readonly name = 'DemoFailure';

  constructor(expected: string, got: unknown) {
    super(`expected ${expected}; got ${typeof got === 'string' ? got : JSON.stringify(got)}`);
  }
}

/** What anybody sends is under way for a moment: it is waited for, or asked for again, this long. */
export const patienceMs = 5000;
const askAgainMs = 20;

/** What comes in time; otherwise a DemoFailure. */
export function within<Value>(clock: Clock, expected: string, coming: Promise<Value>): Promise<Value> {
  return new Promise((resolve, reject) => {
    const fail = (got: string): void => reject(new DemoFailure(expected, got));
    const cancel = clock.after(patienceMs, () => fail(`nothing within ${patienceMs / 1000} s`));
    coming.then(resolve, (error: Error) => fail(error.message)).finally(cancel);
  });
}

/** Asks again until the answer is right; a DemoFailure when it isn't in time. */
export async function untilRight<Value>(
  clock: Clock,
  expected: string,
  ask: () => Promise<Value>,
  isRight: (value: Value) => boolean,
): Promise<Value> {
  const untilMs = clock.monotonicMs() + patienceMs;
  for (;;) {
    const value = await ask();
    if (isRight(value)) return value;
    if (clock.monotonicMs() > untilMs) throw new DemoFailure(expected, value);
    await new Promise<void>((resolve) => void clock.after(askAgainMs, resolve));
  }
}

export interface DemoStage {
  readonly clock: Clock;
  /** As the backend has it. */
  readonly api: ReveilleClient;
  readonly signalUrl: string;
  /** Of the media listener, without a path. */
  readonly mediaUrl: string;
  readonly device: DemoParticipants['device'];
  readonly bridge: DemoParticipants['bridge'];
  /** Leaves no device enabled, no bridge unrevoked, no server running and no directory that the demo made. */
  close(): Promise<void>;
}

/** On the running server. */
export async function findDemoStage(
  { clock, dataDirectory, settings }: CommandContext,
  running: Runtime,
  timeline: Timeline,
): Promise<DemoStage> {
  const nowS = wallSeconds(clock);
  const cast = await lookIntoRegistry(dataDirectory, (registry) => findCast(registry, nowS));
  if (cast === null)
    throw new CommandError(
      `the registry has no live credential with ${needed.join(', ')} of an application with a product`,
      `make one: ${reveilleCommand('credential create --app APP')}`,
    );
  timeline.notify('server', `process ${running.pid} runs on ${dataDirectory}`);
  const schemes = { signal: schemeOf(settings.signal), media: schemeOf(settings.media) };
  return setStage({ clock, running, dataDirectory, schemes }, cast, timeline);
}

/** On a server of our own. */
export async function openOwnStage(clock: Clock, timeline: Timeline): Promise<DemoStage> {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-demo-'));
  const listeners = ['api', 'sleep', 'signal', 'media', 'ops'].map((name) => `${name}.listen=127.0.0.1:0`);
  const settings = loadSettings({ env: {}, overrides: [`data.dir=${directory}`, ...listeners] });
  const { startServer } = await import('../../server/bootstrap/server.ts');
  try {
    const server = await startServer(settings, { clock, log: troublesOnly });
    const running = readRuntimeFile(directory);
    const productId = server.demo?.devices[0]?.productId;
    assert(
      running !== null && server.demo !== null && productId !== undefined,
      'a first start makes a demo application',
    );
    const place: Place = { clock, running, dataDirectory: directory, schemes: plainSchemes };
    const stage = await setStage(place, { credential: server.demo.credential, productId }, timeline);
    const close = async (): Promise<void> => {
      await stage.close();
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    };
    return { ...stage, close };
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

/** Where it plays. */
interface Place {
  readonly clock: Clock;
  readonly running: Runtime;
  readonly dataDirectory: string;
  readonly schemes: Readonly<Record<'signal' | 'media', Scheme>>;
}

type Scheme = 'ws' | 'wss';
const plainSchemes = { signal: 'ws', media: 'ws' } as const;

function schemeOf({ tls_cert_file: certificate }: { readonly tls_cert_file: string | null }): Scheme {
  return certificate === null ? 'ws' : 'wss';
}

/** Who plays: a credential, and a product of its application. */
interface Cast {
  readonly credential: SigningCredential;
  readonly productId: string;
}

const lookedAtMax = 1000;

/** What the story does. */
const needed = [
  'connectivity:read',
  'wakeup:write',
  'message:send',
  'call:read',
  'call:issue',
  'events:read',
] as const;

function findCast(registry: RegistryStore, nowS: number): Cast | null {
  const products = registry.page('product', lookedAtMax);
  for (const credential of registry.page('credential', lookedAtMax)) {
    if (!isCredentialValid(credential, nowS)) continue;
    if (!needed.every((permission) => holdsPermission(credential, permission))) continue;
    const product = products.find(({ appIds }) => appIds.includes(credential.appId));
    if (product !== undefined) return { credential, productId: product.productId };
  }
  return null;
}

async function setStage(
  { clock, running, dataDirectory, schemes }: Place,
  { credential, productId }: Cast,
  timeline: Timeline,
): Promise<DemoStage> {
  const { api, sleep, signal, media } = running.listeners;
  if (api === undefined || signal === undefined || media === undefined)
    throw new CommandError(`the running server (process ${running.pid}) is of another release`, 'restart it');
  const ops = opsClientOf(running, dataDirectory);
  timeline.notify('server', `API on ${api}, sleep server on ${sleep}`);
  timeline.notify('server', `signal listener on ${signal}, media listener on ${media}`);
  const participants = await addParticipants(ops, { productId, appId: credential.appId }, timeline);
  const client = openApi(apiBeside(reachableAddress(api), running.apiCertFile ?? null), credential, clock);
  return {
    ...participants,
    clock,
    api: client,
    signalUrl: signalUrl(schemes.signal, reachableAddress(signal)),
    mediaUrl: mediaUrl(schemes.media, media),
    close: async () => {
      client.close();
      await participants.leave();
    },
  };
}

/** A server that is part of a story speaks up only when something is wrong. */
const troublesOnly: Log = {
  debug: () => undefined,
  info: () => undefined,
  warn: (fields, message) => console.error(message, fields),
  error: (fields, message) => console.error(message, fields),
};
