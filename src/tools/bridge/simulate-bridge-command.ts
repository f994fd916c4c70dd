/** `reveille simulate-bridge`: a bridge that takes calls and plays video to them, as if it came from phones. */
import { Option, type Command } from 'commander';
import { addExamples, contextOf } from '../../cli/shell/command-context.ts';
import { playedFormats } from './frame-coder.ts';
import { wholeNumberOption } from '../../cli/shell/option-values.ts';
import { parseSizes } from './picture-sizes.ts';
import { simulateBridge, type SimulateBridgeOptions } from './simulate-bridge-action.ts';

const callsMax = 1_000_000;
const session = '01a2b3c4-0000-7000-8000-000000000003';

export function addSimulateBridgeCommand(program: Command): void {
  const format = new Option('--format <format>', 'what the video is sent as');
  const command = program
    .command('simulate-bridge')
    .description(
      'Play a bridge: it takes calls, answers them for the phone, and plays a film or a test picture in real time.',
    )
    .argument('[file]', 'a film that FFmpeg can read, over and over; a moving test picture when left out')
    .option(
      '--key <key>',
      'of the bridge; the first of REVEILLE_MEDIA_BRIDGE_KEYS (media.bridge_keys) when left out',
    )
    .option('--media <address>', 'media listener, host:port or a ws or wss URL; the local one when left out')
    .option('--session <id>', 'come for this session; it waits to be given a call when left out')
    .option(
      '--calls <count>',
      'take so many, one after the other; until Ctrl-C when left out',
      wholeNumberOption(1, callsMax),
    )
    .addOption(format.choices(playedFormats).default('h264'))
    .option('--size <WxH,…>', 'pixels; as the call asks for when left out', parseSizes)
    .option(
      '--change-every <seconds>',
      'with several sizes: when the next one comes',
      wholeNumberOption(1, 3600),
    )
    .option('--fps <count>', 'frames a second; as the call asks for when left out', wholeNumberOption(1, 60))
    .option('--audio', 'play a tone, too: A-law, a packet every 20 ms')
    .option(
      '--answer-after <seconds>',
      'the phone joins so long after the ringing, for devices that do not say that they accept',
      wholeNumberOption(0, 600),
    )
    .action((file: string | undefined, options: SimulateBridgeOptions, self: Command) =>
      simulateBridge(contextOf(self), file, options),
    );
  addExamples(
    command,
    ['simulate-bridge', 'a test picture as H.264, to every call of the local server'],
    ['simulate-bridge door.mp4 --calls 1 --audio', 'a film and a tone, to one call'],
    [
      'simulate-bridge --format mjpeg --size 320x240,240x320 --change-every 5',
      'a phone that is turned every five seconds',
    ],
    [`simulate-bridge --session ${session} --key KEY --media 10.0.0.5:8083`, 'for one call, elsewhere'],
  );
}
