/**
 * The server that the demo uses: the running server, or one of its own in a temporary directory on free ports. Either
 * way the story gets a device and a bridge of its own, so that nobody's sleeping device is taken over, and both are
 * removed again after it.
 */
import { rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import { assert } from '../../lib/assert.ts';
import { wallSeconds, type Clock } from '../../lib/clock.ts';
import { holdsPermission, isCredentialValid, isOfApplication } from '../../model/registry.ts';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import type { Log } from '../../core/ports/log.ts';
import { readRuntimeFile, type Runtime } from '../../server/bootstrap/runtime-file.ts';
import { loadSettings } from '../../server/config/settings.ts';
import { listenerNames } from '../../server/config/settings-schema.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import type { SigningCredential } from '../../protocol/tgv1/sign-request.ts';
import { apiBeside, openApi } from '../../cli/api/api-access.ts';
import { toSigning } from '../../cli/api/credential-source.ts';
import type { CommandContext } from '../../cli/shell/command-context.ts';
import { CommandError, reveilleCommand } from '../../cli/shell/command-error.ts';
import { listenerUrl, localTrust } from '../simulator/server-urls.ts';
import { opsClientOf, reachableAddress } from '../../cli/admin/running-server.ts';
import { type OpsClient } from '../../cli/admin/ops-client.ts';
import { lookIntoRegistry } from '../../cli/admin/local-registry.ts';
import { demoEntries, seedStore } from '../../cli/init/first-entries.ts';
import { makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';
import { generateSecret } from '../../storage/registry/registry-write.ts';
import type { Timeline } from './timeline.ts';
import { addTemporaryBridge, type TemporaryBridge } from '../bridge/temporary-bridge.ts';
import type { SimulatedDevice } from '../simulator/simulated-devices.ts';

export class DemoFailure extends Error {
  override readonly name = 'DemoFailure';

  constructor(expected: string, got: unknown) {
    super(`expected ${expected}; got ${typeof got === 'string' ? got : JSON.stringify(got)}`);
  }
}

/** What anybody sends is under way for a moment: it is waited for, or asked for again, this long. */
const patienceMs = 5000;
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
  readonly tls: DemoTls;
  readonly device: SimulatedDevice;
  readonly bridge: TemporaryBridge;
  /** Leaves no device, no bridge, no server running and no directory that the demo made. */
  close(): Promise<void>;
}

/** Of Node's TLS connections to each listener; null: it speaks no TLS. */
type DemoTls = Readonly<Record<'signal' | 'sleep' | 'media', ConnectionOptions | null>>;

/** On the running server. */
export async function findDemoStage(
  context: CommandContext,
  running: Runtime,
  trust: ConnectionOptions | undefined,
  timeline: Timeline,
): Promise<DemoStage> {
  const { clock, dataDirectory } = context;
  const nowS = wallSeconds(clock);
  const cast = await lookIntoRegistry(dataDirectory, (_registry, tables) => findCast(tables, nowS));
  if (cast === null)
    throw new CommandError(
      `the registry has no live credential with ${needed.join(', ')} of an application with a product`,
      `make one: ${reveilleCommand('credential create --app APP')}`,
    );
  timeline.notify('server', `process ${running.pid} runs on ${dataDirectory}`);
  const tls: DemoTls = {
    signal: localTrust(context, 'signal', trust),
    sleep: localTrust(context, 'sleep', trust),
    media: localTrust(context, 'media', trust) ?? trust ?? null,
  };
  return setStage({ clock, running, dataDirectory, tls, trust }, cast, timeline);
}

/** On a server of our own. */
export async function openOwnStage(clock: Clock, timeline: Timeline): Promise<DemoStage> {
  const directory = makeTemporaryDirectory();
  const listeners = listenerNames.map((name) => `${name}.listen=127.0.0.1:0`);
  const settings = loadSettings({ env: {}, overrides: [`data.dir=${directory}`, ...listeners] });
  const { startServer } = await import('../../server/bootstrap/server.ts');
  let server: Awaited<ReturnType<typeof startServer>> | null = null;
  const leave = async (): Promise<void> => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  };
  try {
    const secrets = await seedStore({ clock, dataDirectory: directory }, demoEntries);
    server = await startServer(settings, { clock, log: troublesOnly, handle: null });
    const running = readRuntimeFile(directory);
    assert(running !== null, 'a running server has its file');
    const place: Place = { clock, running, dataDirectory: directory, tls: noTls, trust: undefined };
    const stage = await setStage(
      place,
      { credential: toSigning(secrets), productId: demoEntries.product },
      timeline,
    );
    const close = async (): Promise<void> => {
      try {
        await stage.close();
      } finally {
        await leave();
      }
    };
    return { ...stage, close };
  } catch (error) {
    await leave();
    throw error;
  }
}

/** Where it plays. */
interface Place {
  readonly clock: Clock;
  readonly running: Runtime;
  readonly dataDirectory: string;
  readonly tls: DemoTls;
  /** Of the API, as the user said. */
  readonly trust: ConnectionOptions | undefined;
}

const noTls: DemoTls = { signal: null, sleep: null, media: null };

/** Who plays: a credential, and a product of its application. */
interface Cast {
  readonly credential: SigningCredential;
  readonly productId: string;
}

/** Looked at for one of the credential's application. */
const productsMax = 1000;

/** What the story does. */
const needed = [
  'connectivity:read',
  'wakeup:write',
  'message:send',
  'call:read',
  'call:issue',
  'events:read',
] as const;

function findCast(registry: RegistryTables, nowS: number): Cast | null {
  const products = Array.from(registry.entries('product', { limit: productsMax }));
  for (const credential of registry.entries('credential')) {
    if (!isCredentialValid(credential, nowS)) continue;
    if (!needed.every((permission) => holdsPermission(credential, permission))) continue;
    const product = products.find((one) => isOfApplication(one, credential.appId));
    if (product !== undefined) return { credential, productId: product.productId };
  }
  return null;
}

async function setStage(
  { clock, running, dataDirectory, tls, trust }: Place,
  { credential, productId }: Cast,
  timeline: Timeline,
): Promise<DemoStage> {
  const { api, sleep, signal } = running.listeners;
  if (api === undefined || signal === undefined)
    throw new CommandError(`the running server (process ${running.pid}) is of another release`, 'restart it');
  const ops = opsClientOf(running, dataDirectory);
  timeline.notify('server', `API on ${api}, sleep server on ${sleep}`);
  timeline.notify('server', `signal listener on ${signal}`);
  const participants = await addParticipants(ops, { productId, credential }, timeline);
  const place = apiBeside(reachableAddress(api), running.certFiles.api ?? null);
  const client = openApi(place, credential, clock, trust);
  return {
    ...participants,
    clock,
    api: client,
    signalUrl: listenerUrl(tls.signal === null ? 'ws' : 'wss', signal),
    tls,
    close: async () => {
      client.close();
      await removeParticipants(ops, participants);
      timeline.notify('server', 'device and bridge of the story are removed again');
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

type Participants = Pick<DemoStage, 'device' | 'bridge'>;

async function addParticipants(
  ops: OpsClient,
  { productId, credential: { appId } }: Cast,
  timeline: Timeline,
): Promise<Participants> {
  const suffix = randomBytes(3).toString('hex').toUpperCase();
  const device = { deviceId: `DEMO-${suffix}`, secret: generateSecret() };
  const bridge = await addTemporaryBridge(ops, 'DEMO-BRIDGE', appId);
  const body = { device_id: device.deviceId, product_id: productId, secret: device.secret };
  try {
    await ops.change('/v1/device/add', body);
  } catch (error) {
    await bridge.remove();
    throw error;
  }
  timeline.notify('server', `device ${device.deviceId} and bridge ${bridge.bridgeId} added for this story`);
  return { device, bridge };
}

/** What of it fails keeps nothing else there. */
async function removeParticipants(ops: OpsClient, { device, bridge }: Participants): Promise<void> {
  try {
    await bridge.remove();
  } finally {
    await ops.change('/v1/device/remove', { device_id: device.deviceId });
  }
}
