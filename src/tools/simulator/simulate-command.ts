/**
 * `reveille simulate`: devices over real sockets; with `--call` one call of a device, held by its legs; with `--bridge` a
 * bridge for the calls of others. Each until Ctrl-C or for a while. Exits 1 when no login succeeded, no call connected, or
 * the bridge was refused.
 */
import { Option, type Command } from 'commander';
import { heartbeatSecondsMax, heartbeatSecondsMin } from '../../model/limits.ts';
import { audioFrameFormats } from '../../model/media/sound.ts';
import { addApiOptions } from '../../cli/api/api-access.ts';
import { examples, type CommandContext, inContext } from '../../cli/shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../../cli/shell/option-values.ts';
import type { SimulateOptions } from './simulate-devices.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { parseSizes } from '../bridge/bridge-show.ts';
import { playedFormats } from '../bridge/frame-coder.ts';
import type { SimulateBridgeOptions } from '../bridge/simulate-bridge.ts';
import type { SimulateCallOptions } from '../bridge/simulate-call.ts';

const devicesMax = 1_000_000;
const aDayS = 86_400;

/** Flags of devices, which neither a call nor a bridge has a use for. */
const ofDevices = (): Option[] => [
  new Option('--devices <count>', 'how many').argParser(wholeNumberOption(1, devicesMax)).default(1),
  new Option('--wake-every <seconds>', 'wake a sleeping one at random, through the API').argParser(
    wholeNumberOption(1, 3600),
  ),
  new Option('--online-for <seconds>', 'before it sleeps again')
    .argParser(wholeNumberOption(1, aDayS))
    .default(3),
  new Option('--boot-ms <ms>', 'from the packet to the sign-in, more or less')
    .argParser(wholeNumberOption(0, 60_000))
    .default(300),
  new Option('--signal <address>', 'signal listener, host:port or a ws or wss URL (default: the local one)'),
  new Option(
    '--server <address>',
    'sleep server, host:port or tls://host:port (default: as the controllers are told)',
  ),
  new Option('--only-sleep', 'no controllers: modules that log in and stay asleep, as a load'),
  new Option('--wake-mode <mode>', 'wake mode of the modules')
    .choices(['fixed', 'custom', 'none'])
    .default('custom'),
  new Option(
    '--heartbeat <seconds>',
    'interval of each module (default: as the controllers are told, or 50)',
  ).argParser(wholeNumberOption(heartbeatSecondsMin, heartbeatSecondsMax)),
  new Option('--ramp <per-second>', 'logins begun per second')
    .argParser(wholeNumberOption(1, 100_000))
    .default(1000),
  new Option('--product <id>', 'only devices of this product'),
  new Option(
    '--prefix <text>',
    'only ids that begin with it; with --secret: made-up ids, PREFIX1, PREFIX2, …',
  ),
  new Option('--secret <secret>', 'the one secret of all made-up ids'),
];

const ofCallsAndBridges = (): Option[] => [
  new Option('--film <file>', 'film of the bridge, in a loop (default: a moving test picture)'),
  new Option('--video <format>', 'video of the device with --call, else of the bridge').choices(
    playedFormats,
  ),
  new Option(
    '--audio <format>',
    'sound of the device with --call, else of the bridge (default: as the call asks for)',
  ).choices(audioFrameFormats),
  new Option(
    '--uplink <format>',
    "the device's video, as the bridge receives it (default: as the device sends it)",
  ).choices(['h264']),
  new Option('--uplink-audio <format>', 'the same of its sound').choices(audioFrameFormats),
  new Option(
    '--key <key>',
    'of the bridge (default: a temporary one with --call, else the first of REVEILLE_MEDIA_BRIDGE_KEYS)',
  ),
];

const ofBridges = (): Option[] => [
  new Option('--media <address>', 'media listener, host:port or a ws or wss URL (default: the local one)'),
  new Option('--session <id>', 'only this call (default: any)'),
  new Option('--size <WxH,…>', 'pixels; of several each lasts 5 s (default: as the call asks for)').argParser(
    parseSizes,
  ),
  new Option(
    '--answer-after <seconds>',
    'the phone joins this long after the ringing, for devices that send no acceptance',
  ).argParser(wholeNumberOption(0, 600)),
];

export function addSimulateCommand(program: Command): void {
  const command = program
    .command('simulate')
    .description(
      'Play devices: controllers come online, let their modules sleep, are woken and come online again; a line ' +
        'shows their states and wake times. With --call, hold a call of a device; with --bridge, answer the calls of others.',
    )
    .addOption(
      new Option(
        '--call <device>',
        'hold a call of this device, awake or not: play its leg and, where no bridge takes the call, a bridge',
      )
        .argParser(parseDeviceIdOption)
        .conflicts('bridge'),
    )
    .option('--bridge', 'play a bridge, which answers calls for the phone')
    .option(
      '--duration <seconds>',
      'end after this time (default: with Ctrl-C)',
      wholeNumberOption(1, 2_000_000),
    );
  addApiOptions(command);
  addGroup(command, 'Devices:', ofDevices(), ['call', 'bridge']);
  addGroup(command, 'With --call or --bridge:', ofCallsAndBridges(), []);
  addGroup(command, 'With --bridge:', ofBridges(), ['call']);
  command
    .action(inContext(simulate))
    .addHelpText(
      'after',
      examples(
        ['simulate --devices 2 --wake-every 5', 'two devices of the local registry, woken at random'],
        [
          'simulate --only-sleep --devices 19000 --ramp 5000 --heartbeat 15 --duration 60',
          'sleeping modules as a load',
        ],
        [
          'simulate --prefix LAB- --secret s3cret --signal wss://lab.example --server tls://lab.example:8081 --ca lab.pem',
          'against another server',
        ],
        'simulate --call DEMO-DOORBELL-1 --video mjpeg --uplink h264 --audio opus --uplink-audio pcm',
        ['simulate --bridge --video mjpeg --size 320x240,240x320', 'a phone that turns every five seconds'],
      ),
    );
}

function addGroup(command: Command, heading: string, options: readonly Option[], conflicts: string[]): void {
  for (const option of options) command.addOption(option.conflicts(conflicts).helpGroup(heading));
}

interface Options extends SimulateOptions, SimulateCallOptions, SimulateBridgeOptions {
  readonly call?: string;
  readonly bridge?: boolean;
}

async function simulate(context: CommandContext, options: Options): Promise<void> {
  const { call, bridge } = options;
  if (call !== undefined)
    return (await import('../bridge/simulate-call.ts')).simulateCall(context, call, options);
  if (bridge === true) return (await import('../bridge/simulate-bridge.ts')).simulateBridge(context, options);
  const isGiven = (option: Option): boolean => option.attributeName() in options;
  const spare = ofCallsAndBridges().find(isGiven) ?? ofBridges().find(isGiven);
  if (spare !== undefined) throw usageError(`${spare.flags} needs --call or --bridge`);
  await (await import('./simulate-devices.ts')).simulateDevices(context, options);
}
