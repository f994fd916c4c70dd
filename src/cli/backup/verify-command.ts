/** `reveille verify`: whether a backup is whole, by its checksum and by reading through the store that is made of it. */
import { tmpdir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import type { Command } from 'commander';
import { verifyBackup } from '../../storage/backup/backup-verification.ts';
import { examples, inLocalContext, type CommandContext } from '../shell/command-context.ts';
import { standardPipe } from './backup-command.ts';
import { describeContent } from './backup-view.ts';
import { readingBackup } from './restore-command.ts';

export function addVerifyCommand(program: Command): void {
  program
    .command('verify')
    .description(
      'Verify a backup: its checksum and form, and that its store, unpacked for this, can be read.',
    )
    .argument('<file>', 'a backup; - for a pipe')
    .option(
      '--scratch <dir>',
      'the place to unpack it (default: the folder of the file, for a pipe the temporary one)',
    )
    .addHelpText('after', examples('verify reveille.backup --scratch /mnt/large'))
    .action(inLocalContext(verify));
}

async function verify(
  context: CommandContext,
  file: string,
  { scratch }: { readonly scratch?: string },
): Promise<void> {
  const { clock, output } = context;
  const isPipe = file === standardPipe;
  const place = resolve(scratch ?? (isPipe ? tmpdir() : dirname(file)));
  const startedMs = clock.monotonicMs();
  await readingBackup(context, file, 'unpacking', async (source, deps) => {
    const path = join(place, isPipe ? 'reveille' : basename(file));
    const manifest = await verifyBackup(source, path, deps);
    const seconds = Number(((clock.monotonicMs() - startedMs) / 1000).toFixed(3));
    const text = `${deps.name} is whole (${seconds.toFixed(1)} s): ${describeContent(manifest)}`;
    return () => output.answer({ file, seconds, ...manifest }, text);
  });
}
