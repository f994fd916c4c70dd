import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CallReport } from '../../../../src/tools/bridge/call-report.ts';
import { reportStage } from '../report-stage.ts';

type Json = Readonly<Record<string, unknown>>;

function stage({ wantsJson = false } = {}) {
  const scene = reportStage({ wantsJson, isTTY: true });
  const { clock } = scene;
  const report = new CallReport(scene.context, ['bridge', 'device']);
  /** Sends frames of the bridge in one second, all of which the device receives. */
  const play = (frames: number): void => {
    const { sent } = report.bridge;
    sent.frames += frames;
    sent.bytes += frames * 1000;
    sent.size = { width: 320, height: 240 };
    report.device.received.videoFrames += frames;
    report.device.received.bytes += frames * 500;
    clock.advance(1000);
    report.progress();
  };
  return { ...scene, report, play };
}

test('the JSON output has each step, the figures of each second, and a summary', () => {
  const { answers, report, play } = stage({ wantsJson: true });
  report.reportBridgeEvent('start', { session: 's' }, 'for people');
  play(15);
  report.bridge.received.keyFramesWanted += 1;
  report.bridge.sent.keyFrames += 2;
  play(10);
  report.reportBridgeEvent('trouble', { reason: 'lost' }, 'lost');
  report.summary(1);
  const [start = {}, first = {}, second = {}, trouble = {}, summary = {}] = answers.map(({ json }) => json);
  assert.deepEqual(start, { at: '2026-11-20T08:30:00.000Z', event: 'start', who: 'bridge', session: 's' });
  const flows = [first, second].map((figures) => [
    figures['event'],
    figures['seconds'],
    (figures['bridge'] as { sent: Json }).sent['frames_per_second'],
    (figures['device'] as { received: Json }).received['bytes_per_second'],
  ]);
  assert.deepEqual(flows, [
    ['figures', 1, 15, 7500],
    ['figures', 2, 10, 5000],
  ]);
  assert.equal(trouble['reason'], 'lost');
  assert.deepEqual([summary['event'], summary['calls'], summary['seconds']], ['summary', 1, 2]);
  const { sent, received } = summary['bridge'] as { sent: Json; received: Json };
  assert.deepEqual([sent['frames'], sent['key_frames'], sent['size']], [25, 2, '320x240']);
  assert.deepEqual([received['key_frames_wanted'], received['format']], [1, null]);
});

test('a terminal shows a progress line, with each step above it, and the totals at the end', () => {
  const { answers, screen, report, play } = stage();
  play(15);
  assert.match(
    screen.written,
    /1 s {2}bridge sends 320×240 15 frames\/s 15\.0 kB\/s, receives 0 frames\/s .*device sends no video, receives 15 frames\/s 7\.5 kB\/s/,
  );
  report.step('device', 'joins with its token');
  assert.match(answers[0]?.text ?? '', /^\d\d:30:01\.000 {2}device {2}joins with its token$/);
  report.summary(1);
  assert.match(
    answers[1]?.text ?? '',
    /^1 call in 1 s\n {2}bridge {2}sent 15 frames .*\n {2}device {2}sent 0 frames /,
  );
});

test('a connected call prints hints once', () => {
  const { answers, remarks, report } = stage();
  assert.equal(report.hasConnected, false);
  report.connected('s');
  report.connected('s');
  assert.equal(report.hasConnected, true);
  assert.equal(answers.length, 1);
  assert.match(remarks.join('\n'), /calls list\n.*calls watch\n.*Ctrl-C$/);
});
