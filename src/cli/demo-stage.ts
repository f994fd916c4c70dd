/**
 * Where the demo plays: the running server, or one of its own in a temporary directory on free ports. Either way
 * the story gets a device of its own, so that nobody's sleeping device is taken over, and it is disabled again.
 */
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { assert } from '../base/assert.ts';
import { wallSeconds, type Clock } from '../base/clock.ts';
import { holdsPermission, isCredentialValid } from '../domain/registry.ts';
import type { Log } from '../ports/log.ts';
import { readRuntimeFile, type Runtime } from '../server/runtime-file.ts';
import { loadSettings } from '../server/settings.ts';
import { generateSecret } from '../store/generated-secrets.ts';
import type { RegistryStore } from '../store/registry-store.ts';
import type { SigningCredential } from '../tgv1/sign-request.ts';
import type { CommandContext } from './command-context.ts';
import { CommandError } from './command-error.ts';
import { reveilleCommand } from './invocation.ts';
import { opsClientOf } from './ops-client.ts';
import { lookIntoRegistry } from './registry-look.ts';
import { reachableAddress } from './running-server.ts';
import type { SimulatedDevice } from './simulated-devices.ts';
import { signalUrl } from './signal-url.ts';
import type { Timeline } from './timeline.ts';
import type { ApiAccess } from './wakeup-request.ts';

export interface DemoStage {
  /** The API, and who asks it. */
  readonly access: ApiAccess;
  readonly signalUrl: string;
  readonly device: SimulatedDevice;
  /** Leaves no device enabled, no server running and no directory that the demo made. */
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
  timeline.tell('server', `process ${running.pid} runs on ${dataDirectory}`);
  const scheme = settings.signal.tls_cert_file === null ? 'ws' : 'wss';
  return setStage({ clock, running, dataDirectory, scheme }, cast, timeline);
}

/** On a server of our own. */
export async function openOwnStage(clock: Clock, timeline: Timeline): Promise<DemoStage> {
  const directory = await mkdtemp(join(tmpdir(), 'reveille-demo-'));
  const listeners = ['api', 'sleep', 'signal', 'ops'].map((name) => `${name}.listen=127.0.0.1:0`);
  const settings = loadSettings({ env: {}, overrides: [`data.dir=${directory}`, ...listeners] });
  const { startServer } = await import('../server/server.ts');
  try {
    const server = await startServer(settings, { clock, log: troublesOnly });
    const running = readRuntimeFile(directory);
    const productId = server.demo?.devices[0]?.productId;
    assert(
      running !== null && server.demo !== null && productId !== undefined,
      'a first start makes a demo application',
    );
    const place: Place = { clock, running, dataDirectory: directory, scheme: 'ws' };
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
  readonly scheme: 'ws' | 'wss';
}

/** Who plays: a credential, and a product of its application. */
interface Cast {
  readonly credential: SigningCredential;
  readonly productId: string;
}

const lookedAtMax = 1000;

/** What the story does. */
const needed = ['connectivity:read', 'wakeup:write', 'message:send', 'events:read'] as const;

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
  { clock, running, dataDirectory, scheme }: Place,
  { credential, productId }: Cast,
  timeline: Timeline,
): Promise<DemoStage> {
  const { api, sleep, signal } = running.listeners;
  assert(api !== undefined && sleep !== undefined, 'a ready server has both listeners');
  if (signal === undefined)
    throw new CommandError(`the running server (process ${running.pid}) has no signal listener`);
  const ops = opsClientOf(running, dataDirectory);
  const device = {
    deviceId: `DEMO-${randomBytes(3).toString('hex').toUpperCase()}`,
    secret: generateSecret(),
  };
  await ops.change('/v1/device/add', {
    device_id: device.deviceId,
    product_id: productId,
    secret: device.secret,
  });
  timeline.tell('server', `API on ${api}, sleep server on ${sleep}, signal listener on ${signal}`);
  timeline.tell('server', `device ${device.deviceId} added for this story`);
  return {
    access: { origin: `http://${reachableAddress(api)}`, credential, clock },
    signalUrl: signalUrl(scheme, reachableAddress(signal)),
    device,
    close: async () => {
      await ops.change('/v1/device/disable', { device_id: device.deviceId, disabled: true });
      timeline.tell('server', `device ${device.deviceId} disabled again`);
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
