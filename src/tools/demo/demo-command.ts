/** `reveille demo`: a device, a wakeup and a call on real sockets. Exits 1 on a failure. */
import type { Command } from 'commander';
import { addTrustOptions, findTrust, type TrustOptions } from '../../cli/shell/server-trust.ts';
import {
  newCommand,
  type CommandContext,
  inLocalContext,
  untilInterrupted,
} from '../../cli/shell/command-context.ts';
import { openStage } from './demo-stage.ts';
import { DemoFailure, runStory } from './demo-story.ts';
import { DemoInterrupted, Timeline } from './timeline.ts';

export function addDemoCommand(program: Command): void {
  const command = newCommand(
    program,
    'demo',
    'Run a demo on real sockets, against the running server or a temporary one: online, asleep, signed wakeup, 8 ' +
      'bytes on the wire, online again, a call with pictures; with the response of the API at each step.',
    '--data-dir /var/lib/reveille --fast',
  )
    .option('--pictures <dir>', 'directory for a picture of the call', '.')
    .option('--fast', 'no pauses between the steps on a terminal')
    .action(inLocalContext(demo));
  addTrustOptions(command);
}

interface DemoOptions extends TrustOptions {
  readonly pictures: string;
  readonly fast?: boolean;
}

const stepMs = 450;

function demo(context: CommandContext, { pictures, fast, ...trust }: DemoOptions): Promise<void> {
  return untilInterrupted(async (signal) => {
    const isPaced = process.stdout.isTTY && !context.output.wantsJson && fast !== true;
    const timeline = new Timeline(context, isPaced ? stepMs : 0, signal);
    await timeline.chapter('The stage');
    const stage = await openStage(context, findTrust(context, trust), timeline);
    let verdict = 'the demo succeeded';
    try {
      await runStory(stage, timeline, pictures);
    } catch (error) {
      if (error instanceof DemoInterrupted) verdict = 'interrupted';
      else if (error instanceof DemoFailure) verdict = `the demo failed: ${error.message}`;
      else throw error;
      process.exitCode = 1;
    } finally {
      await stage.close();
    }
    await timeline.end(verdict);
  });
}
