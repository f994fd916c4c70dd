/** `reveille simulate`: sleeping modules over real sockets, until Ctrl-C or for a while. */
import { Option, type Command } from 'commander';
import { heartbeatSecondsMax, heartbeatSecondsMin } from '../domain/limits.ts';
import { addExamples, contextOf } from './command-context.ts';
import { wholeNumberOption } from './option-values.ts';
import { simulate, type SimulateOptions } from './simulate-action.ts';

const devicesMax = 1_000_000;

export function addSimulateCommand(program: Command): void {
  const wakeMode = new Option('--wake-mode <mode>', 'what wakes the modules');
  const command = program
    .command('simulate')
    .description('Let devices sleep: log modules in, send heartbeats, show the wake packets they receive.')
    .option('--devices <count>', 'how many', wholeNumberOption(1, devicesMax), 1)
    .option('--server <host:port>', 'sleep server; the local one when left out')
    .addOption(wakeMode.choices(['fixed', 'custom', 'none']).default('custom'))
    .option(
      '--heartbeat <seconds>',
      'how often each sends',
      wholeNumberOption(heartbeatSecondsMin, heartbeatSecondsMax),
      50,
    )
    .option('--duration <seconds>', 'until Ctrl-C when left out', wholeNumberOption(1, 2_000_000))
    .option('--ramp <per-second>', 'logins begun per second', wholeNumberOption(1, 100_000), 1000)
    .option('--product <id>', 'only devices of this product')
    .option(
      '--prefix <text>',
      'only devices whose id begins so; with --secret: made-up ids, PREFIX1, PREFIX2, …',
    )
    .option('--secret <secret>', 'the one secret of all made-up ids')
    .action((options: SimulateOptions, self: Command) => simulate(contextOf(self), options));
  addExamples(
    command,
    ['simulate --devices 2', 'two devices of the local registry, until Ctrl-C'],
    ['simulate --devices 19000 --ramp 5000 --heartbeat 15 --duration 60', 'a load for a minute'],
    ['simulate --devices 10 --prefix LAB- --secret s3cret --server 10.0.0.5:8081', 'against another server'],
  );
}
