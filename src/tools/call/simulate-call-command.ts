/**
 * `reveille simulate-call`: holds a live call of one device until Ctrl-C, so that there is one to list and to watch. Exits 1
 * when the call did not come to be.
 */
import { Option, type Command } from 'commander';
import { addApiOptions, withApi, type ApiOptions } from '../../cli/api/api-access.ts';
import { CommandError } from '../../cli/shell/command-error.ts';
import {
  addExamples,
  inContext,
  untilInterrupted,
  type CommandContext,
} from '../../cli/shell/command-context.ts';
import { parseDeviceIdOption, wholeNumberOption } from '../../cli/shell/option-values.ts';
import type { ReveilleClient } from '../../client/reveille-client.ts';
import { openEngine } from '../../media/codec/engine.ts';
import { mediaTrust } from '../simulator/server-urls.ts';
import { sessionOf, simulatedRoom, simulatedSound, type RoomMedia } from '../simulator/simulated-room.ts';
import { CallReport } from './call-report.ts';
import { codeTexts } from '../../model/codes.ts';
import { holdCall, type HeldCallDeps, type IssuedCall } from './held-call.ts';
import { downlinkAudioFormats, type DownlinkAudioFormat } from '../../model/call.ts';
import { audioFrameFormats, type AudioFrameFormat } from '../../model/media/sound.ts';
import { showable } from '../../lib/showable-text.ts';

export function addSimulateCallCommand(program: Command): void {
  const command = program
    .command('simulate-call')
    .description(
      'Hold a live call of a device, which need not be awake: its leg is played, and where no bridge takes the call, also ' +
        'a bridge with a test picture. Then there is a call to list and to watch.',
    )
    .argument('<device>', 'a device of the registry', parseDeviceIdOption)
    .option(
      '--seconds <count>',
      'hang up after so long; until Ctrl-C when left out',
      wholeNumberOption(1, 86_400),
    )
    .addOption(
      new Option('--send <format>', 'the device sends a test picture, too, as this').choices([
        'h264',
        'mjpeg',
      ]),
    )
    .addOption(
      new Option(
        '--uplink <format>',
        'what the played bridge takes of it; as it comes when left out',
      ).choices(['h264']),
    )
    .addOption(
      new Option(
        '--audio <format>',
        'the sound that the device takes, and sends as a tone; it takes A-law and is silent when left out',
      ).choices(downlinkAudioFormats),
    )
    .addOption(
      new Option(
        '--uplink-audio <format>',
        'the sound that the played bridge takes of it; as it comes when left out',
      ).choices(audioFrameFormats),
    )
    .option('--key <key>', 'of the bridge to play; when left out, one is added and removed again')
    .action(inContext(simulateCall));
  addExamples(
    addApiOptions(command),
    ['simulate-call DEMO-DOORBELL-1', 'then, in another terminal: reveille calls list'],
    [
      'simulate-call DEMO-DOORBELL-1 --send mjpeg --uplink h264',
      'the door sends JPEGs, and the bridge receives H.264',
    ],
    [
      'simulate-call DEMO-DOORBELL-1 --audio opus --uplink-audio pcm',
      'the door takes and sends Opus, and the bridge receives PCM',
    ],
    ['simulate-call DEMO-DOORBELL-1 --seconds 10 --json', 'for ten seconds, each step as an object'],
    ['simulate-call DOOR-1 --url https://reveille.example --credential key.json --key KEY', 'elsewhere'],
  );
}

interface SimulateCallOptions extends ApiOptions {
  readonly seconds?: number;
  readonly key?: string;
  readonly send?: 'h264' | 'mjpeg';
  readonly uplink?: 'h264';
  readonly audio?: DownlinkAudioFormat;
  readonly uplinkAudio?: AudioFrameFormat;
}

/** A small screen beside an upright phone: what is made of the picture is seen. */
const video: RoomMedia = {
  down_video_mt: 'mjpeg',
  video_res_mode: 'fit_screen',
  screen_width: 320,
  screen_height: 240,
};

async function simulateCall(
  context: CommandContext,
  deviceId: string,
  options: SimulateCallOptions,
): Promise<void> {
  const engine = await openEngine();
  if (!engine.ok) context.output.remark(`${engine.error}: the call has sound only`);
  const need = { permissions: ['call:issue'], deviceId } as const;
  await withApi(context, options, need, async (api, trust) => {
    const report = new CallReport(context);
    const { send = null, uplink = null, audio, uplinkAudio = null } = options;
    const sound = audio === undefined ? {} : { down_audio_mt: audio };
    const media = { ...video, ...(send !== null && { up_video_mt: send }), ...sound };
    const credentials = await issueCall(
      context,
      api,
      deviceId,
      engine.ok ? media : { no_video: true, ...sound },
    );
    const tls = mediaTrust(context, options.url ?? context.profile?.api, trust);
    const call = { deviceId, tls, ...credentials };
    report.step('call', `issued, session ${call.session}`, { session: call.session });
    const { key: bridgeKey = options.url === undefined ? undefined : null, seconds = Infinity } = options;
    const made = engine.ok ? engine.value : null;
    const deps: HeldCallDeps = {
      context,
      report,
      engine: made,
      bridgeKey,
      deviceSends: made && send,
      deviceSpeaks: audio === undefined ? null : { format: audio, ...simulatedSound },
      uplink: { video: uplink, audio: uplinkAudio },
    };
    await untilInterrupted((signal) => holdCall(deps, call, seconds, signal));
    if (!report.hasConnected) process.exitCode = 1;
  });
}

async function issueCall(
  { output }: CommandContext,
  api: ReveilleClient,
  deviceId: string,
  media: RoomMedia,
): Promise<Pick<IssuedCall, 'session' | 'token' | 'url'>> {
  const result = await api.issueCallCredentials({
    ...simulatedRoom('simulated', media),
    device_id: deviceId,
  });
  if (!result.ok)
    throw new CommandError(`no call is issued for ${showable(deviceId)}: ${result.message} (${result.code})`);
  if (result.message !== codeTexts[0]) output.remark(result.message);
  const { peer_id: peerId, token, media_url: url } = result.data;
  if (url !== undefined) return { session: sessionOf(peerId), token, url };
  throw new CommandError('the server does not know its media listener', 'set media.advertise');
}
