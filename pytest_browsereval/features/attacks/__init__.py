"""The config key ``attacks``: rows that run once more while their pages turn against the agent."""

from __future__ import annotations

from pytest_browsereval.feature import Feature

FEATURE = Feature(
    members={
        "attack": {
            "text": "members.text:TextAttack",
            "hidden": "members.hidden:HiddenAttack",
            "banner": "members.banner:BannerAttack",
            "popup": "members.popup:PopupAttack",
            "image": "members.picture:PictureAttack",
            "address": "members.address:AddressAttack",
            "download": "members.download:DownloadAttack",
            "tool_output": "members.tool_output:ToolOutputAttack",
            "form": "members.form:FormAttack",
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
