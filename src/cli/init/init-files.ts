/** Creates the files and the store of `reveille init`, all or none: a failure undoes the earlier steps. */
import { existsSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../../lib/clock.ts';
import { hasStore } from '../../storage/lmdb/store-access.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { writeNewFile } from '../shell/secret-file.ts';
import { seedStore, type FirstEntries, type FirstSecrets } from './first-entries.ts';
import { existsAlready, type InitChoices } from './init-choices.ts';

export interface InitPlaces {
  readonly file: string;
  readonly dataDirectory: string;
}

/** Throws a CommandError if any of them exists. */
export function refuseExisting({ file, dataDirectory }: InitPlaces): void {
  if (existsSync(file))
    throw new CommandError(
      existsAlready(file),
      `start with it: ${reveilleCommand('serve', [['--config', file]])}; or name another with --config`,
    );
  if (hasStore(dataDirectory))
    throw new CommandError(
      `there is a store in ${dataDirectory} already`,
      `list its entries: ${reveilleCommand('registry list', [['--data-dir', dataDirectory]])}; or name another with --data-dir`,
    );
  if (existsSync(dataDirectory) && readdirSync(dataDirectory).length > 0)
    throw new CommandError(
      `${dataDirectory} contains other files`,
      'name an empty or new directory with --data-dir',
    );
}

/**
 * Writes the settings, creates the store with its entries, and writes the secrets if a file is named for them. On failure it
 * removes everything it created and rejects.
 */
export async function makeFiles(
  { file, dataDirectory }: InitPlaces,
  choices: InitChoices,
  settingsText: string,
  clock: Clock,
): Promise<FirstSecrets> {
  const undo: (() => void)[] = [];
  const claim = (path: string, text: string): void => {
    writeNewFile(path, text);
    undo.push(() => rmSync(path, { force: true }));
  };
  try {
    claim(file, settingsText);
    if (choices.secrets !== '') claim(choices.secrets, '');
    const wasThere = existsSync(dataDirectory);
    undo.push(() => removeMade(dataDirectory, wasThere));
    const secrets = await seedStore({ clock, dataDirectory }, firstEntriesOf(choices));
    if (choices.secrets !== '') writeFileSync(choices.secrets, `${JSON.stringify(secrets, null, 2)}\n`);
    return secrets;
  } catch (error) {
    for (const remove of undo.toReversed()) remove();
    throw error;
  }
}

/** The directory was empty or absent before. */
function removeMade(directory: string, wasThere: boolean): void {
  const made = wasThere
    ? readdirSync(directory).map((name) => join(directory, name))
    : [directory].filter((path) => existsSync(path));
  for (const path of made) rmSync(path, { recursive: true, force: true });
}

export function firstEntriesOf({ app, product, device }: InitChoices): FirstEntries {
  return { app, appName: app, product, devices: device === '' ? [] : [device] };
}
