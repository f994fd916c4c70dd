/** `reveille demo`: the whole story on real sockets, with what the API says at each step. */
import type { Command } from 'commander';
import { addExamples, contextOf, type CommandContext } from '../../cli/shell/command-context.ts';
import { DemoFailure } from './demo-failure.ts';
import { findDemoStage, openOwnStage, type DemoStage } from './demo-stage.ts';
import { playDemo } from './demo-story.ts';
import { findRunningServer } from '../../cli/admin/running-server.ts';
import { Timeline } from '../bridge/timeline.ts';

export function addDemoCommand(program: Command): void {
  const command = program
    .command('demo')
    .description(
      'Play the story on real sockets: online, asleep, signed wakeup, 8 bytes on the wire, online again, ' +
        'two calls with pictures, the event log; with what the API says at each step.',
    )
    .option('--pictures <dir>', 'where the pictures of the calls are saved, in one file', '.')
    .action((options: DemoOptions, self: Command) => demo(contextOf(self), options));
  addExamples(
    command,
    ['demo', 'against the running server of the data directory, else one of its own'],
    ['demo --data-dir /var/lib/reveille', 'against the server that has this directory'],
    ['demo --json', 'each step as a JSON object'],
  );
}

interface DemoOptions {
  readonly pictures: string;
}

async function demo(context: CommandContext, { pictures }: DemoOptions): Promise<void> {
  const timeline = new Timeline(context);
  const stage = await openStage(context, timeline);
  try {
    await playDemo(stage, timeline, pictures);
    timeline.end('the story went as it should');
  } catch (error) {
    if (!(error instanceof DemoFailure)) throw error;
    timeline.end(`the story went wrong: ${error.message}`);
    process.exitCode = 1;
  } finally {
    await stage.close();
  }
}

async function openStage(context: CommandContext, timeline: Timeline): Promise<DemoStage> {
  const running = findRunningServer(context.dataDirectory);
  if (running !== null) return findDemoStage(context, running, timeline);
  timeline.notify(
    'server',
    `none runs on ${context.dataDirectory}: starting one of our own, for this story only`,
  );
  return openOwnStage(context.clock, timeline);
}
