/**
 * Creates the first entries of a store, for `reveille init` and for the first start of an unconfigured server.
 * All secrets are random and shown once. Source: running.md, Data.
 */
import { assert } from '../../lib/assert.ts';
import type { ApplicationId, DeviceId, ProductId } from '../../model/ids.ts';
import { prepareDataDirectory } from '../../storage/lmdb/data-directory.ts';
import { RegistryStore } from '../../storage/registry/registry-store.ts';
import type { RegistryTables } from '../../storage/registry/registry-tables.ts';
import { generateSecret, RegistryWriter } from '../../storage/registry/registry-write.ts';
import { changeAtRest, type RestingStore } from '../admin/local-registry.ts';
import { reveilleCommand, shellWord } from '../shell/command-error.ts';
import { alignColumns } from '../shell/output.ts';

/** An application with an access key that has all permissions, its product, and devices of that product. */
export interface FirstEntries {
  readonly app: string;
  readonly appName: string;
  readonly product: string;
  readonly devices: readonly string[];
}

export const demoEntries: FirstEntries = {
  app: '2818153',
  appName: 'demo',
  product: 'doorbell',
  devices: ['DEMO-DOORBELL-1', 'DEMO-DOORBELL-2'],
};

export type FirstSecrets = Readonly<Awaited<ReturnType<typeof putEntries>>>;

/** Creates the directory and the store if they do not exist. Throws a StoreOpenError or an AuditRefusal. */
export function seedStore(
  resting: Pick<RestingStore, 'clock' | 'dataDirectory'>,
  entries: FirstEntries,
): Promise<FirstSecrets> {
  prepareDataDirectory(resting.dataDirectory);
  const change = {
    action: 'registry.seed',
    ids: {},
    outcomeOf: ({ access_key_id, app_id }: FirstSecrets) =>
      ({ result: 'ok', ids: { access_key_id, app_id } }) as const,
  } as const;
  return changeAtRest(resting, change, ({ registry }) => putEntries(registry, entries));
}

/** Resolves to the secrets in the form of a registry file, the credential in the form that `--credential` reads. */
async function putEntries(tables: RegistryTables, { app, appName, product, devices }: FirstEntries) {
  const writer = new RegistryWriter(tables, new RegistryStore(tables));
  const [appId, productId] = [app as ApplicationId, product as ProductId];
  const terms = { expiresAt: null, disabled: false };
  const made = (devices as readonly DeviceId[]).map((deviceId) => ({ deviceId, secret: generateSecret() }));
  const application = await writer.put('application', { appId, name: appName });
  const credential = await writer.createCredential({ appId, grants: ['*'], notBefore: null, notAfter: null });
  const puts: { readonly ok: boolean }[] = [
    application,
    await writer.put('product', { productId, appIds: [appId] }),
  ];
  for (const device of made) puts.push(await writer.putDevice({ ...device, productId, ...terms }));
  assert(credential.ok && puts.every(({ ok }) => ok), 'each entry refers only to earlier ones');
  const { accessKeyId, secretKey } = credential.value;
  return {
    app_id: app,
    access_key_id: accessKeyId,
    secret_key: secretKey,
    devices: made.map(({ deviceId, secret }) => ({ device_id: deviceId, product_id: product, secret })),
  };
}

export function secretLines({ app_id, access_key_id, secret_key, devices }: FirstSecrets): string {
  return alignColumns([
    ['application', app_id],
    ['access key id', access_key_id],
    ['secret key', `${secret_key}  (shown this once)`],
    ...devices.map(({ device_id, secret }) => [`${device_id} secret`, `${secret}  (shown this once)`]),
  ]);
}

type Place = Parameters<typeof reveilleCommand>[1];

/** Example commands for a running server, quoted for a shell; each is meant for its own terminal. */
export function firstCommands({ product, devices }: FirstEntries, place?: Place): string[] {
  const [first] = devices;
  const commands =
    first === undefined
      ? [`device add DOOR-1 --product ${shellWord(product)}`, 'simulate --devices 1 --wake-every 5']
      : [`simulate --devices ${devices.length}`, `wake ${shellWord(first)} --wait`];
  return commands.map((rest) => reveilleCommand(rest, place));
}
