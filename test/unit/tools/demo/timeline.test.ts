import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  credentialLines,
  DemoInterrupted,
  showCredentials,
  Timeline,
  type Telling,
} from '../../../../src/tools/demo/timeline.ts';
import { CommandContext } from '../../../../src/cli/shell/command-context.ts';
import { ProcessOutput } from '../../../../src/cli/shell/output.ts';
import { DrivenClock } from '../../../support/driven-clock.ts';
import { nextTurn } from '../../../support/event-loop.ts';

const credentials = {
  peer_id: 'whips://msgvoip?x_msg_app_id=wx&x_msg_model_id=m&x_msg_room_id=r%261&x_device_id=D&x_session=s-1',
  token: 'eyJhbGciOiJIUzI1NiJ9.planted-claims.planted-mac',
};

test('the story shows which session credentials are for, and not what lets a device in', () => {
  const shown = {
    peer_id: 'whips://msgvoip?…&x_session=s-1',
    token: 'eyJhbGci…',
  };
  assert.deepEqual(showCredentials(credentials), shown);
  const media_url = 'ws://media.example:8083';
  assert.deepEqual(credentialLines({ ...credentials, media_url }), [
    `  peer_id    ${shown.peer_id}`,
    `  token      ${shown.token}`,
    `  media_url  ${media_url}`,
  ]);
});

function tell(telling: Partial<Telling> = {}) {
  const clock = new DrivenClock();
  const context = new CommandContext({}, {}, { clock, output: new ProcessOutput(false) });
  const screen = { written: '', write: (text: string) => (screen.written += text) };
  const signal = new AbortController().signal;
  const timeline = new Timeline(context, { screen, hasColor: false, stepMs: 0, signal, ...telling });
  return { clock, screen, timeline };
}

test('without pauses every step is shown at once, by chapters, with a table at the end', async () => {
  const { timeline, screen } = tell();
  await timeline.chapter('Once');
  timeline.notify('module', 'logged in', {}, ['  more of it']);
  timeline.result('a device', 'is woken');
  await timeline.end('it went well');
  const time = String.raw`\d\d:30:00\.000`;
  const story = [
    '',
    '1\\. Once',
    `${time} {2}module {6}logged in`,
    ' {28}more of it',
    '',
    'In short',
    ' {2}a device {2}is woken',
    '',
    `${time} {2}demo {8}it went well`,
    '',
  ];
  assert.match(screen.written, new RegExp(`^${story.join('\n')}$`));
});

test('a chapter begins when all before it has been shown, a step at a time', async () => {
  const { timeline, screen, clock } = tell({ stepMs: 100 });
  timeline.notify('module', 'first');
  timeline.notify('module', 'second');
  let hasBegun = false;
  const chapter = timeline.chapter('Then').then(() => (hasBegun = true));
  await nextTurn();
  assert.match(screen.written, /first\n$/);
  clock.advance(100);
  await nextTurn();
  assert.match(screen.written, /second\n$/);
  clock.advance(100);
  await nextTurn();
  assert.match(screen.written, /1\. Then\n$/);
  assert.equal(hasBegun, false);
  clock.advance(100);
  await chapter;
});

test('who has seen enough waits for nothing, and no chapter begins any more', async () => {
  const interruption = new AbortController();
  const { timeline, screen } = tell({ stepMs: 100, signal: interruption.signal });
  timeline.notify('module', 'first');
  const chapter = timeline.chapter('Then');
  interruption.abort();
  await assert.rejects(chapter, DemoInterrupted);
  timeline.notify('server', 'removed');
  await timeline.end('interrupted');
  assert.match(screen.written, /removed\n.*interrupted\n$/);
});

test('colours are for terminals, and text from elsewhere brings none of its own', () => {
  const { timeline, screen } = tell({ hasColor: true });
  timeline.notify('module', 'says \u001b[31m');
  assert.ok(screen.written.includes('\u001b[32mmodule'), 'the module is green');
  assert.ok(screen.written.endsWith('says \\u001b[31m\n'), 'and what it says is escaped');
});
