/** `reveille upgrade`: the release that is in place now takes over from the one that serves. Source: docs/operations.md, Upgrading. */
import type { Command } from 'commander';
import type { UpgradeBegunJson, UpgradeJson } from '../../server/upgrade/upgrade-routes.ts';
import { pause } from '../../lib/clock.ts';
import { upgradeCommandMsMax } from '../../model/upgrade-limits.ts';
import { addExamples, type CommandContext, inContext } from '../shell/command-context.ts';
import { CommandError, reveilleCommand } from '../shell/command-error.ts';
import { serverClient } from './admin-client.ts';
import { OpsUnavailableError, type OpsClient } from './ops-client.ts';

export function addUpgradeCommand(program: Command): void {
  const command = program
    .command('upgrade')
    .description(
      'Let the release that is in place now take over from the one that serves: sleeping devices stay connected. With ' +
        'several processes the workers restart one after another.',
    )
    .action(inContext(upgrade));
  addExamples(
    command,
    ['upgrade', 'as SIGUSR2 does; returns when the new release serves, fails when the old one goes on'],
    ['upgrade --json', 'for machines: the process and the release before and after'],
  );
}

async function upgrade(context: CommandContext): Promise<void> {
  const begun = await clientOf(context).change<UpgradeBegunJson>('/v1/upgrade', {});
  if (begun.kind === 'workers')
    return context.output.answer(
      begun,
      `the workers are restarted one after another; see ${reveilleCommand('cluster status')}`,
    );
  const now = await finished(context, begun.pid);
  const before = { pid: begun.pid, version: begun.version };
  const after = { pid: now.pid, version: now.version };
  context.output.answer(
    { before, after },
    `release ${after.version} (process ${after.pid}) has taken over from ${before.version} (process ${before.pid})`,
  );
}

const askEveryMs = 250;

/** The server that serves in its place. Throws when that is still the one that was asked. */
async function finished(context: CommandContext, pid: number): Promise<UpgradeJson> {
  const { clock } = context;
  const endMs = clock.monotonicMs() + upgradeCommandMsMax;
  while (clock.monotonicMs() < endMs) {
    await pause(clock, askEveryMs);
    const now = await asked(context);
    if (now === null || (now.pid === pid && now.upgrading)) continue;
    if (now.pid !== pid) return now;
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
    return await clientOf(context).ask<UpgradeJson>('/v1/upgrade');
  } catch (error) {
    if (error instanceof OpsUnavailableError) return null;
    throw error;
  }
}

function clientOf(context: CommandContext): OpsClient {
  return serverClient(context, '', 'start it, or name its directory with --data-dir');
}
