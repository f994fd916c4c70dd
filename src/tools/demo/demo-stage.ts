/**
 * The server of the demo: the running one, or a new one in a temporary directory on free ports. The demo adds an application, a
 * product, a credential, a device and a bridge, and removes them at the end.
 */
import { rm } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import type { ConnectionOptions } from 'node:tls';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import { findApi, openApi } from '../../cli/api/api-access.ts';
import { findOpsClient, findRunningServer } from '../../cli/admin/running-server.ts';
import { CommandContext } from '../../cli/shell/command-context.ts';
import { assert } from '../../lib/assert.ts';
import type { Log } from '../../lib/log.ts';
import { loadSettings } from '../../server/config/settings.ts';
import { listenerNames } from '../../server/config/settings-schema.ts';
import { makeTemporaryDirectory } from '../../storage/lmdb/leftovers.ts';
import { generateSecret } from '../../storage/registry/registry-write.ts';
import { findSignalUrl, localTrust } from '../simulator/server-urls.ts';
import type { SimulatedDevice } from '../simulator/simulated-devices.ts';
import { addTemporaryBridge, type TemporaryBridge } from '../bridge/simulated-bridge.ts';
import type { Timeline } from './timeline.ts';

export interface DemoStage {
  readonly clock: CommandContext['clock'];
  readonly api: ReveilleClient;
  readonly signalUrl: string;
  /** TLS options of Node for each listener; undefined: no TLS. */
  readonly tls: Readonly<Record<'signal' | 'sleep' | 'media', ConnectionOptions | undefined>>;
  readonly device: SimulatedDevice;
  readonly bridge: TemporaryBridge;
  close(): Promise<void>;
}

type Undo = () => Promise<unknown>;

/** `trust`: TLS options of the command line, for the running server. */
export async function openStage(
  context: CommandContext,
  trust: ConnectionOptions | undefined,
  timeline: Timeline,
): Promise<DemoStage> {
  const undo: Undo[] = [];
  const close = async (): Promise<void> => {
    let failure: unknown = null;
    // Continue after a failed step, and report the first failure.
    for (const step of undo.splice(0).reverse()) await step().catch((error: unknown) => (failure ??= error));
    if (failure !== null) throw failure;
  };
  try {
    const running = findRunningServer(context.dataDirectory);
    const place =
      running === null
        ? `no server runs on ${context.dataDirectory}, so one starts for this demo`
        : `process ${running.pid} runs on ${context.dataDirectory}`;
    timeline.step('server', place);
    const stage = await furnish(running === null ? await startServer(context, undo) : context, trust, undo);
    timeline.step('server', `signal listener at ${stage.signalUrl}`);
    timeline.step(
      'server',
      `device ${stage.device.deviceId} and bridge ${stage.bridge.bridgeId} added for this demo`,
    );
    undo.push(async () => timeline.step('server', 'device and bridge of the demo are removed'));
    return { ...stage, close };
  } catch (error) {
    await close();
    throw error;
  }
}

async function startServer({ clock, output }: CommandContext, undo: Undo[]): Promise<CommandContext> {
  const directory = makeTemporaryDirectory();
  undo.push(() => rm(directory, { recursive: true, force: true }));
  const overrides = [`data.dir=${directory}`, ...listenerNames.map((name) => `${name}.listen=127.0.0.1:0`)];
  const { startServer: start } = await import('../../server/bootstrap/server.ts');
  const quiet = (): void => undefined;
  const error: Log['error'] = (fields, message) => console.error(message, fields);
  const log = { debug: quiet, info: quiet, warn: quiet, error };
  const server = await start(loadSettings({ env: {}, overrides }), { clock, log });
  undo.push(() => server.stop());
  return new CommandContext({ dataDir: directory }, {}, { clock, output });
}

interface CredentialAnswer {
  readonly credential: { readonly access_key_id: string; readonly secret_key: string };
}

async function furnish(
  context: CommandContext,
  trust: ConnectionOptions | undefined,
  undo: Undo[],
): Promise<Omit<DemoStage, 'close'>> {
  const { clock } = context;
  const [ops, signalUrl] = [findOpsClient(context), findSignalUrl(context, {})];
  assert(ops !== null && signalUrl !== null, 'the server of the demo runs');
  const add = async (kind: string, id: object, more: object): Promise<void> => {
    await ops.change(`/v1/${kind}/add`, { ...id, ...more });
    undo.push(() => ops.change(`/v1/${kind}/remove`, id));
  };
  const name = `DEMO-${randomBytes(3).toString('hex').toUpperCase()}`;
  await add('application', { app_id: name }, { name: 'demo' });
  await add('product', { product_id: name }, { app_ids: [name] });
  const { credential } = await ops.change<CredentialAnswer>('/v1/credential/create', { app_id: name });
  const { access_key_id, secret_key: secretKey } = credential;
  undo.push(() => ops.change('/v1/credential/remove', { access_key_id }));
  const device = { deviceId: name, secret: generateSecret() };
  await add('device', { device_id: name }, { product_id: name, secret: device.secret });
  const bridge = await addTemporaryBridge(ops, 'DEMO-BRIDGE', name);
  undo.push(() => bridge.remove());
  const signing = { accessKeyId: access_key_id, secretKey, appId: name };
  const api = openApi(findApi(context, undefined), signing, clock, trust);
  undo.push(async () => api.close());
  const tlsOf = (listener: keyof DemoStage['tls']): ConnectionOptions | undefined =>
    localTrust(context, listener, trust) ?? undefined;
  const tls = { signal: tlsOf('signal'), sleep: tlsOf('sleep'), media: tlsOf('media') ?? trust };
  return { clock, api, signalUrl, tls, device, bridge };
}
