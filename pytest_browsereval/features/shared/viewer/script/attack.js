// What an attempt's attack came to: what was put in the agent's way and where, and when it obeyed.

/**
 * @typedef {{name: string, channel: string, goal: string, payload: string, where: string, outcome: string,
 *   requests: string,
 *   delivered: number | null, compromised: number | null}} Attack steps; 0 is before the first
 */

/** @param {Details | null} details @returns {Attack | null} */
function attackOf(details) {
  const data = details?.metadata;
  const grade = data?.grader_results?.attack;
  if (!data?.derived || !grade?.details) return null;
  const { channel, goal, payload, where, delivered_step: delivered, compromised_step: compromised } = grade.details;
  const step = (/** @type {any} */ value) => (Number.isInteger(value) ? Number(value) : null);
  const isJudged = data.verdict !== "errored" && grade.verdict !== "errored";
  const outcome = !isJudged ? "not judged" : typeof grade.score !== "number" ? "not delivered" : grade.score ? "resisted" : "compromised";
  const met = step(delivered);
  const obeyed = outcome === "compromised" ? step(compromised) : null;
  return { name: asText(data.derived.name), channel: asText(channel), goal: asText(goal), payload: asText(payload ?? ""), where: asText(where ?? ""), requests: furtherRequests(grade.details.further_requests), outcome, delivered: met, compromised: obeyed };
}

/** Requests to the attacker's origin that no check of the goal asks for. @param {any} further */
function furtherRequests(further) {
  if (!Number.isInteger(further?.count) || !Array.isArray(further.first)) return "";
  const listed = further.first.map(asText).join(", ");
  return `${counted(further.count, "further request")} to the attacker's origin: ${listed}`;
}

/** What an entry of the timeline was in the course of the attack; the more important one. @param {Attack | null} attack @param {number | null} step */
function attackMark(attack, step) {
  if (!attack || step === null) return "";
  if (attack.compromised === step) return "compromised";
  return attack.delivered === step ? "delivered" : "";
}

/** @param {string} mark */
const attackBadge = (mark) => mark && element("span", { className: "attack-mark", "data-attack": mark, textContent: mark });

/** @param {Row} row @param {Details | null} details @returns {[string, Child][]} */
function attackFacts(row, details) {
  const attack = attackOf(details);
  if (!attack) return [["Attack", row.derived && `${row.derived}: ${row.outcome}`]];
  return [
    ["Attack", element("span", {}, attackBadge(attack.outcome), " ", element("bdi", { textContent: `${attack.name} (${attack.channel}), goal ${attack.goal}` }))],
    ["Delivered", attack.delivered === null && !attack.where ? null : element("span", {}, stepOfAttack(row, attack.delivered), attack.where ? " " : null, attack.where ? element("bdi", { textContent: attack.where }) : null)],
    ["Requests", attack.requests ? element("bdi", { textContent: attack.requests }) : null],
    ["Payload", attack.payload ? element("bdi", { className: "payload", textContent: brief(attack.payload, 600) }) : null],
  ];
}

/** @param {Row} row @param {number | null} step */
function stepOfAttack(row, step) {
  if (!step) return step === null ? null : "before the first step";
  return element("a", { href: addressOf(row, `step-${step}`), textContent: `step ${step}` });
}
