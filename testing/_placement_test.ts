import assert from "node:assert/strict";
import { readAnswer } from "./_placement.ts";

const info = 'INFO {"server_id":"A","headers":true} \r\n';
const reply = (text: string) => `${info}MSG _INBOX.trellis-probe 1 ${text.length}\r\n${text}\r\n`;

Deno.test("readAnswer() waits for the whole answer", () => {
  assert.equal(readAnswer(info), undefined);
  assert.equal(readAnswer(reply("no suitable peers for placement").slice(0, -10)), undefined);
});

Deno.test("readAnswer() says no while a peer counts as offline", () => {
  const refusal = "no suitable peers for placement";
  assert.equal(readAnswer(reply(`${refusal}, peer offline, tags not matched ['x']`)), false);
  assert.equal(readAnswer(reply(`${refusal}, tags not matched ['x']`)), true);
});

Deno.test("readAnswer() says yes where it may not ask", () => {
  assert.equal(readAnswer(`${info}-ERR 'Authorization Violation'\r\n`), true);
  assert.equal(readAnswer('INFO {"server_id":"A","tls_required":true} \r\n'), true);
});
