/** `--output` of commands that create a secret: writes the answer to a new file with mode 0600. */
import { rmSync, writeFileSync } from 'node:fs';
import { Option } from 'commander';
import { messageOf } from '../../lib/result.ts';
import type { CommandContext } from './command-context.ts';
import { CommandError } from './command-error.ts';

export interface SecretOptions {
  readonly output?: string;
}

export function outputOption(): Option {
  return new Option('--output <file>', 'write the secret to a new file, with mode 0600, in JSON');
}

/**
 * Answers with the result of `request`. The file is created first, so that a secret always has a place; if writing fails, the
 * secret is printed. Throws a CommandError if the file cannot be created.
 */
export async function answerSecret(
  { output }: Pick<CommandContext, 'output'>,
  { output: file }: SecretOptions,
  request: () => Promise<readonly [json: object, text: string]>,
): Promise<void> {
  if (file === undefined) return output.answer(...(await request()));
  writeNewFile(file);
  const [json, text] = await request().catch((error: unknown) => {
    rmSync(file, { force: true });
    throw error;
  });
  try {
    writeFileSync(file, `${JSON.stringify(json)}\n`);
    output.answer({ file }, `the secret is in ${file}, readable by its owner only`);
  } catch (error) {
    output.warning(`${file} cannot be written, so the secret is shown: ${messageOf(error)}`);
    output.answer(json, text);
  }
}

/** Mode 0600. Throws a CommandError if it cannot be created, also when another process just created it. */
export function writeNewFile(path: string, text = ''): void {
  try {
    writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    // A full disk leaves an empty file.
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') rmSync(path, { force: true });
    throw new CommandError(
      `${path} cannot be written: ${messageOf(error)}`,
      'nothing was created; name a path in an existing, writable directory',
    );
  }
}
