"""The config key ``attacks``: rows that run once more while their pages turn against the agent."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "attack": {
            "text": "members:TextAttack",
            "hidden": "members:HiddenAttack",
            "banner": "members:BannerAttack",
            "popup": "members:PopupAttack",
            "image": "members:PictureAttack",
            "address": "members:AddressAttack",
            "download": "members:DownloadAttack",
            "tool_output": "members:ToolOutputAttack",
            "form": "members:FormAttack",
            "suite": "suites:SuiteAttack",
        },
        "agent": {"gullible": "agents:GullibleConfig", "careful": "agents:CarefulConfig"},
        "grader": {"attack": "grader:AttackGrader"},
    },
    readers=("reader:AttackReader",),
    commands=("command",),
    keys=(("attacks",),),
    hooks="plugin",
)
