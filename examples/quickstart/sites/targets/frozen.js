"use strict";
// What would differ from run to run stands still: the clock shows 2026-03-02 09:00 UTC,
// random numbers follow a seed. Load it before any other script.
(() => {
  const now = Date.UTC(2026, 2, 2, 9);
  const RealDate = Date;
  const FrozenDate = new Proxy(RealDate, {
    construct: (target, args, newTarget) =>
      Reflect.construct(target, args.length ? args : [now], newTarget === FrozenDate ? target : newTarget),
    apply: (target) => new target(now).toString(),
    get: (target, key) => (key === "now" ? () => now : Reflect.get(target, key)),
  });
  RealDate.prototype.constructor = FrozenDate;
  globalThis.Date = FrozenDate;

  let seed = 20260302;
  Math.random = () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let mixed = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
  };
})();
