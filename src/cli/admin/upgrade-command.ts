/** `reveille upgrade`: the release that is in place now takes over from the one that serves. Source: docs/upgrading.md, Upgrading. */
import type { Command } from 'commander';
import type { UpgradeBegunJson, UpgradeJson } from '../../server/upgrade/upgrade-routes.ts';
import { pause } from '../../lib/clock.ts';
import { examples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError } from '../shell/command-error.ts';
import { OpsUnavailableError } from './ops-client.ts';
import { opsClient } from './running-server.ts';

export function addUpgradeCommand(program: Command): void {
  program
    .command('upgrade')
    .description(
      'Let the release that is in place now take over from the running one, as SIGUSR2 does: sleeping devices stay ' +
        'connected. Fails when the old release continues.',
    )
    .addHelpText('after', examples('upgrade'))
    .action(inContext(upgrade));
}

async function upgrade(context: CommandContext): Promise<void> {
  const begun = await opsClient(context).change<UpgradeBegunJson>('/v1/upgrade', {});
  const now = await finished(context, begun);
  const before = { pid: begun.pid, version: begun.version };
  const after = { pid: now.pid, version: now.version };
  context.output.answer(
    { before, after },
    `release ${after.version} (process ${after.pid}) has taken over from ${before.version} (process ${before.pid})`,
  );
}

const askEveryMs = 250;
/** The command waits so long for a release that serves. */
const upgradeCommandMsMax = 180_000;

/** The process that answers in the place of the one that was asked. Throws when that is still the same. */
async function finished(context: CommandContext, { pid }: UpgradeBegunJson): Promise<UpgradeJson> {
  const { clock } = context;
  const begunMs = clock.monotonicMs();
  while (clock.monotonicMs() - begunMs < upgradeCommandMsMax) {
    await pause(clock, askEveryMs);
    const now = await asked(context);
    if (now === null || now.upgrading) continue;
    if (now.pid !== pid && now.failure === null) return now;
    throw new CommandError(
      `not upgraded, and the old release goes on: ${now.failure ?? 'it does not say why'}`,
      'mend that, and upgrade again',
    );
  }
  throw new CommandError(
    `no release says within ${upgradeCommandMsMax / 1000} s that it serves`,
    "see the server's log",
  );
}

/** Null: it starts or stops, or is between the two. */
async function asked(context: CommandContext): Promise<UpgradeJson | null> {
  try {
    return await opsClient(context).ask<UpgradeJson>('/v1/upgrade');
  } catch (error) {
    if (error instanceof OpsUnavailableError) return null;
    throw error;
  }
}
