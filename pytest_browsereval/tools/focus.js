(root) => {
  let one = root.activeElement;
  const inside = () => one?.shadowRoot?.activeElement ?? one?.contentDocument?.activeElement;
  while (inside()) one = inside();
  globalThis.browserevalFocused = one && !/^(body|html)$/.test(one.localName) ? one : null;
  return Boolean(globalThis.browserevalFocused);
}
