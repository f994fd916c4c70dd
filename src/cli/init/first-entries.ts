/** The files and the store that `reveille init` makes, all of them or none: what goes wrong half way is undone. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../../lib/result.ts';
import type { JsonObject } from '../../model/json.ts';
import { prepareDataDirectory } from '../../storage/lmdb/data-directory.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import { generateSecret } from '../../storage/registry/registry-write.ts';
import type { AdminClient } from '../admin/ops-client.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { taken, type InitChoices } from './init-choices.ts';

/** The secrets of the first entries, in the form that `--credential` reads. */
export interface FirstSecrets extends JsonObject {
  readonly app_id: string;
  readonly access_key_id: string;
  readonly secret_key: string;
}

export interface InitPlaces {
  /** Path of the settings file. */
  readonly file: string;
  /** An absolute path. */
  readonly dataDirectory: string;
}

/** Throws a CommandError when something is there already. */
export function refuseTaken({ file, dataDirectory }: InitPlaces): void {
  if (existsSync(file))
    throw new CommandError(
      taken(file),
      `start with it: ${reveilleCommand('serve', [['--config', file]])}; or name another with --config`,
    );
  if (hasStore(dataDirectory))
    throw new CommandError(
      `there is a store in ${dataDirectory} already`,
      `see what it has: ${reveilleCommand('registry list', [['--data-dir', dataDirectory]])}; or name another with --data-dir`,
    );
  if (entriesOf(dataDirectory).length > 0)
    throw new CommandError(
      `${dataDirectory} has other files in it`,
      'name an empty directory, or one that is not there yet, with --data-dir',
    );
}

/** Throws a StoreOpenError where it is no directory of ours. */
function entriesOf(directory: string): readonly string[] {
  return existsSync(directory) ? readdirSync(directory) : [];
}

const ownerOnly = { mode: 0o600, flag: 'wx' } as const;

/**
 * Writes the settings, makes the store with its entries by the client that `openClient` returns, and writes the secrets where a
 * file is named for them. When something fails, it removes what it has made and rejects.
 */
export async function makeFirst(
  { file, dataDirectory }: InitPlaces,
  choices: InitChoices,
  settingsText: string,
  openClient: () => Pick<AdminClient, 'change'>,
): Promise<FirstSecrets> {
  const undo: (() => void)[] = [];
  const claim = (path: string, text: string): void => {
    writeNew(path, text);
    undo.push(() => rmSync(path, { force: true }));
  };
  try {
    claim(file, settingsText);
    if (choices.secrets !== '') claim(choices.secrets, '');
    const wasThere = existsSync(dataDirectory);
    prepareDataDirectory(dataDirectory);
    undo.push(() => removeMade(dataDirectory, wasThere));
    const secrets = await addEntries(openClient(), choices);
    if (choices.secrets !== '') writeFileSync(choices.secrets, `${JSON.stringify(secrets, null, 2)}\n`);
    return secrets;
  } catch (error) {
    for (const remove of undo.toReversed()) remove();
    throw error;
  }
}

/** Throws a CommandError, also when another process was faster. */
function writeNew(path: string, text: string): void {
  try {
    writeFileSync(path, text, ownerOnly);
  } catch (error) {
    throw new CommandError(
      `${path} cannot be written: ${messageOf(error)}`,
      'nothing was made; name another path, in a folder that is there and may be written',
    );
  }
}

/** The directory was empty or absent before. */
function removeMade(directory: string, wasThere: boolean): void {
  const made = wasThere ? readdirSync(directory).map((name) => join(directory, name)) : [directory];
  for (const path of made) rmSync(path, { recursive: true, force: true });
}

/** As `application add`, `product add`, `credential create` and `device add` do. */
async function addEntries(
  client: Pick<AdminClient, 'change'>,
  { app, product, device }: InitChoices,
): Promise<FirstSecrets> {
  await client.change('/v1/application/add', { app_id: app, name: app, replace: false });
  await client.change('/v1/product/add', { product_id: product, app_ids: [app], replace: false });
  const { credential } = await client.change<{ credential: FirstSecrets }>('/v1/credential/create', {
    app_id: app,
    permissions: ['*'],
  });
  if (device === '') return credential;
  const secret = generateSecret();
  await client.change('/v1/device/add', {
    device_id: device,
    product_id: product,
    secret,
    expires_at: null,
    disabled: false,
  });
  return { ...credential, device: { device_id: device, product_id: product, secret } };
}
