/**
 * `reveille simulate`: devices over real sockets; with `--call` one call of a device, held by its legs; with `--bridge` a
 * bridge for the calls of others. Each until Ctrl-C or for a while. Exits 1 when no login succeeded, no call connected, or
 * the bridge was refused.
 */
import { Option, type Command } from 'commander';
import { heartbeatSecondsMax, heartbeatSecondsMin } from '../../model/limits.ts';
import { audioFrameFormats } from '../../model/media/sound.ts';
import { addApiOptions } from '../../cli/api/api-access.ts';
import { newCommand, type CommandContext, inContext } from '../../cli/shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../../cli/shell/option-values.ts';
import type { SimulateOptions } from './simulate-devices.ts';
import { usageError } from '../../cli/shell/command-error.ts';
import { parseSizes } from '../bridge/bridge-show.ts';
import { playedFormats } from '../bridge/frame-coder.ts';
import type { SimulateBridgeOptions } from '../bridge/simulate-bridge.ts';
import type { SimulateCallOptions } from '../bridge/simulate-call.ts';

const devicesMax = 1_000_000;
const aDayS = 86_400;

/** Neither a call nor a bridge has a use for them. */
function addOptionsOfDevices(command: Command): void {
  const modes = new Option('--wake-mode <mode>', 'wake mode of the modules');
  command
    .option('--devices <count>', 'how many', wholeNumberOption(1, devicesMax), 1)
    .option(
      '--wake-every <seconds>',
      'wake a sleeping one at random, through the API',
      wholeNumberOption(1, 3600),
    )
    .option('--online-for <seconds>', 'before it sleeps again', wholeNumberOption(1, aDayS), 3)
    .option(
      '--boot-ms <ms>',
      'from the packet to the sign-in, more or less',
      wholeNumberOption(0, 60_000),
      300,
    )
    .option('--signal <address>', 'signal listener, host:port or a ws or wss URL (default: the local one)')
    .option(
      '--server <address>',
      'sleep server, host:port or tls://host:port (default: as the controllers are told)',
    )
    .option('--only-sleep', 'no controllers: modules that log in and stay asleep, as a load')
    .addOption(modes.choices(['fixed', 'custom', 'none']).default('custom'))
    .option(
      '--heartbeat <seconds>',
      'interval of each module (default: as the controllers are told, or 50)',
      wholeNumberOption(heartbeatSecondsMin, heartbeatSecondsMax),
    )
    .option('--ramp <per-second>', 'logins begun per second', wholeNumberOption(1, 100_000), 1000)
    .option('--product <id>', 'only devices of this product')
    .option('--prefix <text>', 'only ids that begin with it; with --secret: made-up ids, PREFIX1, PREFIX2, …')
    .option('--secret <secret>', 'the one secret of all made-up ids');
}

function addOptionsOfCallsAndBridges(command: Command): void {
  const video = new Option('--video <format>', 'video of the device with --call, else of the bridge');
  const sound = 'sound of the device with --call, else of the bridge (default: as the call asks for)';
  const uplink = "the device's video, as the bridge receives it (default: as the device sends it)";
  command
    .option('--film <file>', 'film of the bridge, in a loop (default: a moving test picture)')
    .addOption(video.choices(playedFormats))
    .addOption(new Option('--audio <format>', sound).choices(audioFrameFormats))
    .addOption(new Option('--uplink <format>', uplink).choices(['h264']))
    .addOption(new Option('--uplink-audio <format>', 'the same of its sound').choices(audioFrameFormats))
    .option(
      '--key <key>',
      'of the bridge (default: a temporary one with --call, else the first of REVEILLE_MEDIA_BRIDGE_KEYS)',
    );
}

function addOptionsOfBridges(command: Command): void {
  const size = 'pixels; of several each lasts 5 s (default: as the call asks for)';
  command
    .option('--media <address>', 'media listener, host:port or a ws or wss URL (default: the local one)')
    .option('--session <id>', 'only this call (default: any)')
    .option('--size <WxH,…>', size, parseSizes)
    .option(
      '--answer-after <seconds>',
      'the phone joins this long after the ringing, for devices that send no acceptance',
      wholeNumberOption(0, 600),
    );
}

export function addSimulateCommand(program: Command): void {
  const command = newCommand(
    program,
    'simulate',
    'Play devices: controllers come online, let their modules sleep, are woken and come online again; a line ' +
      'shows their states and wake times. With --call, hold a call of a device; with --bridge, answer the calls of others.',

    ['--devices 2 --wake-every 5', 'two devices of the local registry, woken at random'],
    ['--only-sleep --devices 19000 --ramp 5000 --heartbeat 15 --duration 60', 'sleeping modules as a load'],
    [
      '--prefix LAB- --secret s3cret --signal wss://lab.example --server tls://lab.example:8081 --ca lab.pem',
      'against another server',
    ],
    '--call DEMO-DOORBELL-1 --video mjpeg --uplink h264 --audio opus --uplink-audio pcm',
    ['--bridge --video mjpeg --size 320x240,240x320', 'a phone that turns every five seconds'],
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
  addGroup(command, 'Devices:', addOptionsOfDevices, ['call', 'bridge']);
  const ofCalls = [
    ...addGroup(command, 'With --call or --bridge:', addOptionsOfCallsAndBridges, []),
    ...addGroup(command, 'With --bridge:', addOptionsOfBridges, ['call']),
  ];
  command
    .optionsGroup('')
    .action(inContext((context, options: Options) => simulate(context, options, ofCalls)));
}

/** The options that `add` adds, under a heading of their own. */
function addGroup(
  command: Command,
  heading: string,
  add: (command: Command) => void,
  conflicts: string[],
): readonly Option[] {
  const before = command.options.length;
  add(command.optionsGroup(heading));
  return command.options.slice(before).map((option) => option.conflicts(conflicts));
}

interface Options extends SimulateOptions, SimulateCallOptions, SimulateBridgeOptions {
  readonly call?: string;
  readonly bridge?: boolean;
}

async function simulate(
  context: CommandContext,
  options: Options,
  ofCalls: readonly Option[],
): Promise<void> {
  const { call, bridge } = options;
  if (call !== undefined)
    return (await import('../bridge/simulate-call.ts')).simulateCall(context, call, options);
  if (bridge === true) return (await import('../bridge/simulate-bridge.ts')).simulateBridge(context, options);
  const spare = ofCalls.find((option) => option.attributeName() in options);
  if (spare !== undefined) throw usageError(`${spare.flags} needs --call or --bridge`);
  await (await import('./simulate-devices.ts')).simulateDevices(context, options);
}
